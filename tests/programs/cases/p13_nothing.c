/* Arguments that are not significant, and empty datatypes that meet counts of 0 (MPI-3.1 chapter 5: "significant only at root",
   "ignored" with MPI_IN_PLACE). 1 to 5 ranks. */
#include <mpi.h>
#include <stdio.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int me, n, k, root, v[8], w[8], ones[8], zeros[8], at[8]; MPI_Datatype empty, t[8], e[8]; MPI_Request q;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_size(MPI_COMM_WORLD, &n); if (n > 8) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Type_contiguous(0, MPI_INT, &empty); MPI_Type_commit(&empty);
    for (k = 0; k < 8; k++) ones[k] = 3, zeros[k] = 0, at[k] = 0, t[k] = MPI_INT, e[k] = empty, v[k] = me, w[k] = -1;
    /* 872: three of an empty datatype on one side, none of ints on the other */
    MPI_Alltoallv(v, ones, at, empty, w, zeros, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(v, zeros, at, MPI_INT, w, ones, at, empty, MPI_COMM_WORLD);
    MPI_Alltoallw(v, ones, at, e, w, zeros, at, t, MPI_COMM_WORLD);
    MPI_Alltoallw(v, zeros, at, t, w, ones, at, e, MPI_COMM_WORLD);
    MPI_Ialltoallw(v, ones, at, e, w, zeros, at, t, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Allgather(v, 5, empty, w, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Bcast(v, me == 0 ? 5 : 0, me == 0 ? empty : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Sendrecv(v, 7, empty, me, 0, w, 0, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (k = 0; k < 8; k++) CHECK(w[k] == -1, "an empty message writes");
    for (root = 0; root < n; root++) {
        int r = me == root; void *none = (void *)0x10;
        v[0] = 10 + me;
        MPI_Gather(v, 1, MPI_INT, r ? w : none, r ? 1 : -3, r ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        if (r) for (k = 0; k < n; k++) CHECK(w[k] == 10 + k, "gather %d: %d", k, w[k]);
        for (k = 0; k < n; k++) { zeros[k] = k == 1 ? 0 : 1; at[k] = k; }
        MPI_Gatherv(v, zeros[me], MPI_INT, r ? w : NULL, r ? zeros : NULL, r ? at : NULL, r ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        if (r) for (k = 0; k < n; k++) v[k] = 50 + k;
        MPI_Scatter(r ? v : none, r ? 1 : -3, r ? MPI_INT : MPI_DATATYPE_NULL, w, 1, MPI_INT, root, MPI_COMM_WORLD); CHECK(w[0] == 50 + me, "scatter %d", w[0]);
        w[0] = -1;
        MPI_Scatterv(r ? v : NULL, r ? zeros : NULL, r ? at : NULL, r ? MPI_INT : MPI_DATATYPE_NULL, w, zeros[me], MPI_INT, root, MPI_COMM_WORLD); CHECK(w[0] == (me == 1 ? -1 : 50 + me), "scatterv %d", w[0]);
        if (r) for (k = 0; k < n; k++) w[k] = 70 + k;
        if (r) MPI_Scatter(w, 1, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        else { MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, w, 1, MPI_INT, root, MPI_COMM_WORLD); CHECK(w[0] == 70 + me, "scatter in place %d", w[0]); }
        w[me] = 90 + me; v[0] = 90 + me;
        if (r) { MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, w, 1, MPI_INT, root, MPI_COMM_WORLD); for (k = 0; k < n; k++) CHECK(w[k] == 90 + k, "gather in place %d", w[k]); }
        else MPI_Gather(v, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        v[0] = 1; MPI_Reduce(v, r ? w : NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD); if (r) CHECK(w[0] == n, "reduce %d", w[0]);
        MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    }
    w[me] = me; MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w, 1, MPI_INT, MPI_COMM_WORLD); for (k = 0; k < n; k++) CHECK(w[k] == k, "allgather in place");
    w[me] = me + 1; for (k = 0; k < n; k++) ones[k] = 1, at[k] = k;
    MPI_Allgatherv(MPI_IN_PLACE, -4, MPI_DATATYPE_NULL, w, ones, at, MPI_INT, MPI_COMM_WORLD); for (k = 0; k < n; k++) CHECK(w[k] == k + 1, "allgatherv in place");
    for (k = 0; k < n; k++) w[k] = 10 * me + k;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w, 1, MPI_INT, MPI_COMM_WORLD); for (k = 0; k < n; k++) CHECK(w[k] == 10 * k + me, "alltoall in place %d", w[k]);
    for (k = 0; k < n; k++) w[k] = 10 * me + k;
    MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, w, ones, at, MPI_INT, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); for (k = 0; k < n; k++) CHECK(w[k] == 10 * k + me, "ialltoallv in place %d", w[k]);
    for (k = 0; k < n; k++) w[k] = 10 * me + k, at[k] = k * sizeof(int);
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, w, ones, at, t, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); for (k = 0; k < n; k++) CHECK(w[k] == 10 * k + me, "ialltoallw in place %d", w[k]);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
