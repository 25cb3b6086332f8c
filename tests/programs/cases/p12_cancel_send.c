/* A wait behind MPI_Cancel returns whatever others do; that of sends as well (MPI-3.1 section 3.8.4). 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int me, x = 42,  flag, c, i, big = 65536, *many; MPI_Request r; MPI_Status s;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Issend(&x, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &r); MPI_Test(&r, &flag, &s); CHECK(!flag, "nobody receives, but it is complete");
    MPI_Cancel(&r); MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c); CHECK(c, "send to oneself: not cancelled");
    CHECK(r == MPI_REQUEST_NULL, "handle");
    MPI_Iprobe(me, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); CHECK(!flag, "a cancelled message is found");
    many = calloc(big, sizeof *many);
    if (me == 0) {
        for (i = 0; i < 4; i++) {
            MPI_Isend(many, big, MPI_INT, 1, 20, MPI_COMM_WORLD, &r); MPI_Cancel(&r); MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c);
            c = !c; MPI_Send(&c, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
        }
    } else if (me == 1)
        for (i = 0; i < 4; i++) { MPI_Recv(&c, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, &s); if (c) MPI_Recv(many, big, MPI_INT, 0, 20, MPI_COMM_WORLD, &s); }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); CHECK(!flag, "something is left");
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
