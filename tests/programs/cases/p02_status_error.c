/* MPI_ERROR of a status changes only in calls that return several
   statuses, and only when they return MPI_ERR_IN_STATUS (MPI-3.1 section 3.2.5); a Testall that succeeds returns MPI_SUCCESS.
   2 ranks or more. */
#include <mpi.h>
#include <stdio.h>
static int bad;
#define MARK 123456
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int rank, i, flag, index, out, idx[3], e, cls;
    int a[3], big[4] = { 1, 2, 3, 4 };
    MPI_Request r[3];
    MPI_Status s[3];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        for (i = 0; i < 16; i++) MPI_Send(big, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    if (rank == 1) {
        for (i = 0; i < 3; i++) s[i].MPI_ERROR = MARK;
        MPI_Recv(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, s);
        CHECK(s->MPI_ERROR == MARK, "Recv sets MPI_ERROR %d", s->MPI_ERROR);
        MPI_Irecv(a, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, r); MPI_Wait(r, s);
        CHECK(s->MPI_ERROR == MARK, "Wait sets MPI_ERROR %d", s->MPI_ERROR);
        MPI_Irecv(a, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, r); flag = 0; while (!flag) MPI_Test(r, &flag, s);
        CHECK(s->MPI_ERROR == MARK, "Test sets MPI_ERROR %d", s->MPI_ERROR);
        MPI_Irecv(a, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, r); MPI_Waitany(1, r, &index, s);
        CHECK(s->MPI_ERROR == MARK, "Waitany sets MPI_ERROR %d", s->MPI_ERROR);
        for (i = 0; i < 3; i++) MPI_Irecv(a + i, 1, MPI_INT, 0, 4 + i, MPI_COMM_WORLD, r + i);
        e = MPI_Waitall(3, r, s);
        CHECK(e == MPI_SUCCESS, "Waitall returns %d", e);
        for (i = 0; i < 3; i++) CHECK(s[i].MPI_ERROR == MARK, "Waitall sets MPI_ERROR %d", s[i].MPI_ERROR);
        for (i = 0; i < 3; i++) MPI_Irecv(a + i, 1, MPI_INT, 0, 7 + i, MPI_COMM_WORLD, r + i);
        flag = 0; e = 0; while (!flag && !e) e = MPI_Testall(3, r, &flag, s);
        CHECK(e == MPI_SUCCESS, "Testall returns %d", e);
        for (i = 0; i < 3; i++) CHECK(s[i].MPI_ERROR == MARK, "Testall sets MPI_ERROR %d", s[i].MPI_ERROR);
        MPI_Irecv(a, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, r); MPI_Waitsome(1, r, &out, idx, s);
        CHECK(s->MPI_ERROR == MARK, "Waitsome sets MPI_ERROR %d", s->MPI_ERROR);
        MPI_Probe(0, 11, MPI_COMM_WORLD, s);
        CHECK(s->MPI_ERROR == MARK, "Probe sets MPI_ERROR %d", s->MPI_ERROR);
        MPI_Sendrecv(a, 0, MPI_INT, MPI_PROC_NULL, 0, a, 1, MPI_INT, 0, 11, MPI_COMM_WORLD, s);
        CHECK(s->MPI_ERROR == MARK, "Sendrecv sets MPI_ERROR %d", s->MPI_ERROR);
        for (i = 12; i < 16; i++) MPI_Recv(a, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* one of three is too long */
    if (rank == 0)
        for (i = 0; i < 3; i++) MPI_Send(big, i == 1 ? 4 : 1, MPI_INT, 1, 20 + i, MPI_COMM_WORLD);
    if (rank == 1) {
        for (i = 0; i < 3; i++) MPI_Irecv(a + i, 1, MPI_INT, 0, 20 + i, MPI_COMM_WORLD, r + i), s[i].MPI_ERROR = MARK;
        e = MPI_Waitall(3, r, s);
        MPI_Error_class(e, &cls);
        CHECK(cls == MPI_ERR_IN_STATUS, "Waitall with an error returns class %d", cls);
        for (i = 0; i < 3; i++) {
            MPI_Error_class(s[i].MPI_ERROR, &cls);
            /* those not complete may be MPI_ERR_PENDING */
            CHECK(cls == (i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || (i != 1 && cls == MPI_ERR_PENDING), "status %d class %d", i, cls);
            if (r[i] != MPI_REQUEST_NULL) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* and the same by each of the other calls: class MPI_ERR_TRUNCATE by itself, or in the status */
    if (rank == 0)
        for (i = 0; i < 5; i++) MPI_Send(big, 4, MPI_INT, 1, 30 + i, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Irecv(a, 1, MPI_INT, 0, 30, MPI_COMM_WORLD, r); e = MPI_Wait(r, s); MPI_Error_class(e, &cls);
        CHECK(cls == MPI_ERR_TRUNCATE, "Wait class %d", cls);
        CHECK(r[0] == MPI_REQUEST_NULL, "Wait leaves a request that failed");
        MPI_Irecv(a, 1, MPI_INT, 0, 31, MPI_COMM_WORLD, r); index = 9; e = MPI_Waitany(1, r, &index, s); MPI_Error_class(e, &cls);
        CHECK(cls == MPI_ERR_TRUNCATE && index == 0, "Waitany class %d index %d", cls, index);
        MPI_Irecv(a, 1, MPI_INT, 0, 32, MPI_COMM_WORLD, r); flag = 0; e = 0; while (!flag && !e) e = MPI_Test(r, &flag, s);
        MPI_Error_class(e, &cls); CHECK(cls == MPI_ERR_TRUNCATE, "Test class %d", cls);
        MPI_Irecv(a, 1, MPI_INT, 0, 33, MPI_COMM_WORLD, r); out = 9; e = MPI_Waitsome(1, r, &out, idx, s); MPI_Error_class(e, &cls);
        CHECK(cls == MPI_ERR_IN_STATUS && out == 1 && idx[0] == 0, "Waitsome class %d out %d", cls, out);
        MPI_Error_class(s->MPI_ERROR, &cls); CHECK(cls == MPI_ERR_TRUNCATE, "Waitsome status class %d", cls);
        e = MPI_Recv(a, 1, MPI_INT, 0, 34, MPI_COMM_WORLD, s); MPI_Error_class(e, &cls);
        CHECK(cls == MPI_ERR_TRUNCATE, "Recv class %d", cls);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
