/* A wait behind MPI_Cancel of a receive returns; a cancelled persistent
   receive can be started again (MPI-3.1 section 3.8.4). 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int me, x = 42, y = 0, flag, c, i, index, out, idx[2]; MPI_Request r, rr[2]; MPI_Status s, ss[2];
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r); MPI_Cancel(&r); MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c); CHECK(c, "receive not cancelled");
    MPI_Irecv(&y, 1, MPI_INT, me, 5, MPI_COMM_WORLD, &rr[0]); MPI_Irecv(&y, 1, MPI_INT, me, 6, MPI_COMM_WORLD, &rr[1]);
    MPI_Cancel(&rr[1]); MPI_Waitany(2, rr, &index, &s); MPI_Test_cancelled(&s, &c); CHECK(index == 1 && c && rr[1] == MPI_REQUEST_NULL, "Waitany %d %d", index, c);
    MPI_Cancel(&rr[0]); MPI_Waitsome(2, rr, &out, idx, ss); MPI_Test_cancelled(&ss[0], &c); CHECK(out == 1 && idx[0] == 0 && c, "Waitsome %d", out);
    /* one that was matched before is not cancelled */
    MPI_Irecv(&y, 1, MPI_INT, me, 7, MPI_COMM_WORLD, &r); MPI_Ssend(&x, 1, MPI_INT, me, 7, MPI_COMM_WORLD); MPI_Cancel(&r); MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &c); MPI_Get_count(&s, MPI_INT, &i); CHECK(!c && y == 42 && i == 1 && s.MPI_TAG == 7, "matched, then cancelled: %d %d", c, y);
    /* persistent */
    MPI_Recv_init(&y, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &r);
    for (i = 0; i < 3; i++) {
        MPI_Start(&r); MPI_Cancel(&r); MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c); CHECK(c && r != MPI_REQUEST_NULL, "persistent, round %d: %d", i, c);
        MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c); CHECK(!c && s.MPI_TAG == MPI_ANY_TAG, "inactive behind it");
        y = 0; MPI_Start(&r); MPI_Send(&i, 1, MPI_INT, me, 8, MPI_COMM_WORLD); MPI_Wait(&r, &s); MPI_Test_cancelled(&s, &c); CHECK(!c && y == i, "again, round %d: %d %d", i, c, y);
    }
    MPI_Start(&r); MPI_Cancel(&r); MPI_Request_free(&r);
    MPI_Sendrecv(&x, 1, MPI_INT, me, 9, &y, 1, MPI_INT, me, 9, MPI_COMM_WORLD, &s);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); CHECK(!flag, "something is left");
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
