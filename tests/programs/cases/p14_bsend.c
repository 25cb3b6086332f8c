/* Buffered sends out of a buffer that is exactly the sum of MPI_Pack_size and MPI_BSEND_OVERHEAD; the
   program's own buffer is used again at once; detach waits (MPI-3.1 section 3.6). 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    static const int len[3] = { 1, 301, 40 };
    int me, i, k, round, size = 0, p, e, cls, got, v[301], w[301]; void *room, *back; MPI_Request q[4]; MPI_Status s;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < 3; i++) { MPI_Pack_size(len[i], MPI_INT, MPI_COMM_WORLD, &p); size += p + MPI_BSEND_OVERHEAD; }
    room = malloc(size);
    if (me == 0) {
        for (round = 0; round < 20; round++) {
            MPI_Buffer_attach(room, size);
            for (k = 0; k < 3; k++) {
                i = (k + round) % 3;
                for (p = 0; p < len[i]; p++) v[p] = round * 1000 + i + p;
                if (k == 1) { e = MPI_Ibsend(v, len[i], MPI_INT, 1, i, MPI_COMM_WORLD, &q[0]); MPI_Wait(&q[0], &s); }
                else e = MPI_Bsend(v, len[i], MPI_INT, 1, i, MPI_COMM_WORLD);
                MPI_Error_class(e, &cls); CHECK(cls == MPI_SUCCESS, "round %d message %d: class %d", round, k, cls);
                memset(v, 0xff, sizeof v);
            }
            if (round == 0) MPI_Ssend(&size, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
            back = NULL; got = -1; MPI_Buffer_detach(&back, &got); CHECK(back == room && got == size, "detach gives %d", got);
            memset(room, 0xff, size);
        }
        /* persistent, and the same buffer for 60 messages one after the other without detaching */
        MPI_Buffer_attach(room, size);
        MPI_Bsend_init(v, 301, MPI_INT, 1, 7, MPI_COMM_WORLD, &q[1]);
        for (round = 0; round < 60; round++) {
            for (p = 0; p < 301; p++) v[p] = round + p;
            MPI_Start(&q[1]); e = MPI_Wait(&q[1], &s); CHECK(e == MPI_SUCCESS, "persistent %d", round); memset(v, 0xff, sizeof v);
            MPI_Recv(&p, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &s);
            /* another one beside it: 1 int always fits */
            e = MPI_Bsend(&round, 1, MPI_INT, 1, 5, MPI_COMM_WORLD); MPI_Error_class(e, &cls); CHECK(cls == MPI_SUCCESS, "beside it, %d: class %d", round, cls);
        }
        MPI_Request_free(&q[1]); MPI_Buffer_detach(&back, &got);
    } else if (me == 1) {
        for (round = 0; round < 20; round++) {
            if (round == 0) MPI_Recv(&got, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &s);
            for (i = 2; i >= 0; i--) {
                MPI_Recv(w, 301, MPI_INT, 0, i, MPI_COMM_WORLD, &s); MPI_Get_count(&s, MPI_INT, &got); CHECK(got == len[i], "length %d", got);
                for (p = 0; p < len[i]; p++) if (w[p] != round * 1000 + i + p) { CHECK(0, "round %d message %d element %d is %d", round, i, p, w[p]); break; }
            }
        }
        for (round = 0; round < 60; round++) {
            MPI_Recv(w, 301, MPI_INT, 0, 7, MPI_COMM_WORLD, &s); for (p = 0; p < 301; p++) if (w[p] != round + p) { CHECK(0, "persistent %d element %d is %d", round, p, w[p]); break; }
            MPI_Send(&round, 1, MPI_INT, 0, 6, MPI_COMM_WORLD); MPI_Recv(w, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &s); CHECK(w[0] == round, "beside %d: %d", round, w[0]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
