/* An intercommunicator is split with MPI_UNDEFINED at the first of each group, and the result merged; a color that only one
   group has gives MPI_COMM_NULL (MPI-3.1 section 6.4.2, 6.6.2). 4 ranks or more, also odd numbers. */
#include <mpi.h>
#include <stdio.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int rank, n, high, half, l, ls, rs, mr, ms, v, sum, color;
    MPI_Comm side, inter, part, all, dup;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &n);
    half = n / 2; high = rank >= half;
    MPI_Comm_split(MPI_COMM_WORLD, high, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, high ? 0 : half, 42, &inter);
    MPI_Comm_rank(inter, &l); MPI_Comm_size(inter, &ls); MPI_Comm_remote_size(inter, &rs);
    CHECK(ls == (high ? n - half : half) && rs == n - ls, "sizes %d %d", ls, rs);
    MPI_Comm_split(inter, l == 0 ? MPI_UNDEFINED : 1, -rank, &part);
    CHECK((part == MPI_COMM_NULL) == (l == 0), "rank %d: split with a color gives %s", rank, part == MPI_COMM_NULL ? "null" : "one");
    if (part != MPI_COMM_NULL) {
        int pl, pls, prs; MPI_Comm_rank(part, &pl); MPI_Comm_size(part, &pls); MPI_Comm_remote_size(part, &prs);
        CHECK(pls == ls - 1 && prs == rs - 1 && pl == ls - 1 - l, "split: rank %d of %d, remote %d", pl, pls, prs);
        MPI_Intercomm_merge(part, high, &all);
        MPI_Comm_rank(all, &mr); MPI_Comm_size(all, &ms);
        CHECK(ms == n - 2 && mr == (high ? half - 1 : 0) + pl, "merged: %d of %d", mr, ms);
        v = rank; MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK(sum == n * (n - 1) / 2 - half, "sum %d", sum);
        MPI_Comm_dup(part, &dup);
        v = 1; MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, dup); CHECK(sum == rs - 1, "sum over the other group %d", sum);
        MPI_Comm_free(&dup); MPI_Comm_free(&all); MPI_Comm_free(&part);
    }
    /* colors: 7 in both groups, 100 + side in one only */
    color = l == 0 ? 7 : 100 + high;
    MPI_Comm_split(inter, color, 0, &part);
    CHECK((part == MPI_COMM_NULL) == (l != 0), "rank %d: a color of one group gives %s", rank, part == MPI_COMM_NULL ? "null" : "one");
    if (part != MPI_COMM_NULL) { int k = 5, g; MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &g, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE); CHECK(g == (high ? 0 : half), "other %d", g); MPI_Barrier(part); (void)k; MPI_Comm_free(&part); }
    /* none of one group */
    MPI_Comm_split(inter, high ? MPI_UNDEFINED : 3, 0, &part);
    CHECK(part == MPI_COMM_NULL, "rank %d: nobody in one group gives one", rank);
    MPI_Barrier(inter);
    MPI_Comm_free(&inter); MPI_Comm_free(&side);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
