/* A persistent receive that fails (message too long) is reported as MPI_ERR_IN_STATUS by Waitall
   and Testall, stays a valid inactive request, and works when it is started again (MPI-3.1 sections 3.7.5, 3.9). 2 ranks. */
#include <mpi.h>
#include <stdio.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int rank, i, round, e, cls, flag, a[2], d[64] = { 11, 12, 13 };
    MPI_Request r[2], keep;
    MPI_Status s[2];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) {
        for (i = 0; i < 2; i++) MPI_Recv_init(&a[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &r[i]);
        keep = r[0];
    }
    for (round = 0; round < 6; round++) {
        int spoil = round % 2 == 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Send(d, spoil ? (round == 4 ? 64 : 3) : 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Send(d + 1, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        }
        if (rank == 1) {
            a[0] = a[1] = -1;
            MPI_Startall(2, r);
            if (round < 2) e = MPI_Waitall(2, r, s);
            else { flag = 0; e = 0; while (!flag && !e) e = MPI_Testall(2, r, &flag, s); }
            MPI_Error_class(e, &cls);
            CHECK(cls == (spoil ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "round %d class %d", round, cls);
            if (spoil) { MPI_Error_class(s[0].MPI_ERROR, &cls); CHECK(cls == MPI_ERR_TRUNCATE, "round %d status class %d", round, cls); }
            else CHECK(a[0] == 11, "round %d data %d", round, a[0]);
            CHECK(r[0] == keep && r[1] != MPI_REQUEST_NULL, "round %d: the request is gone", round);
            for (i = 0; i < 2; i++) MPI_Wait(&r[i], MPI_STATUS_IGNORE); /* those that were pending */
            CHECK(a[1] == 12, "round %d second %d", round, a[1]);
        }
    }
    if (rank == 1) for (i = 0; i < 2; i++) CHECK(MPI_Request_free(&r[i]) == MPI_SUCCESS, "free");
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
