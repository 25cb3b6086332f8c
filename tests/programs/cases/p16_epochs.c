/* Epochs with empty groups, windows of nothing, targets MPI_PROC_NULL, MPI_Win_test, dynamic windows with MPI_Aint_add, a loop of
   flush_local that waits for another (MPI-3.1 sections 11.2, 11.3, 11.5, 11.7.3). 2 to 4 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int me, n, i, flag, x = 7, y = 0; MPI_Win w; MPI_Group world, g; MPI_Request q; MPI_Status s;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, w); MPI_Win_complete(w);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w); MPI_Win_wait(w);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w); flag = 0; MPI_Win_test(w, &flag); CHECK(flag, "Win_test of an empty exposure");
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w); MPI_Win_start(MPI_GROUP_EMPTY, 0, w); MPI_Win_complete(w); MPI_Win_wait(w);
    MPI_Win_fence(0, w); MPI_Put(&x, 0, MPI_INT, (me + 1) % n, 0, 0, MPI_INT, w); MPI_Get(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, w);
    MPI_Put(&x, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, w); MPI_Accumulate(&x, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, MPI_SUM, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    MPI_Win_lock_all(0, w);
    s.MPI_SOURCE = 5; MPI_Rget(&y, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w, &q); MPI_Wait(&q, &s); CHECK(y == 0, "Rget of nobody");
    MPI_Rput(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(&x, &y, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, w); MPI_Compare_and_swap(&x, &x, &y, MPI_INT, MPI_PROC_NULL, 0, w);
    MPI_Win_flush_all(w); MPI_Win_unlock_all(w);
    MPI_Win_free(&w);
    /* rank 0 gives access to all others, some of which put nothing */
    { int *m; MPI_Win_allocate(n * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &m, &w); for (i = 0; i < n; i++) m[i] = -1; MPI_Barrier(MPI_COMM_WORLD);
      for (i = 0; i < 3; i++) {
          int zero = 0;
          if (me == 0) { MPI_Group_excl(world, 1, &zero, &g); MPI_Win_post(g, 0, w); flag = 0; while (!flag) MPI_Win_test(w, &flag); MPI_Group_free(&g);
              for (x = 1; x < n; x++) CHECK(m[x] == (x % 2 ? 10 * i + x : -1), "round %d place %d has %d", i, x, m[x]); }
          else { int v = 10 * i + me; MPI_Group_incl(world, 1, &zero, &g); MPI_Win_start(g, 0, w); MPI_Group_free(&g); if (me % 2) MPI_Put(&v, 1, MPI_INT, 0, me, 1, MPI_INT, w); MPI_Win_complete(w); } }
      MPI_Win_free(&w); }
    /* dynamic: each attaches two regions, one twice */
    { int *a = calloc(1024, sizeof(int)), *b = calloc(16, sizeof(int)); MPI_Aint mine[2], *all = malloc(2 * n * sizeof *all), at; int p = (me + 1) % n, v;
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
      MPI_Win_attach(w, a, 1024 * sizeof(int)); MPI_Win_attach(w, b, 16 * sizeof(int)); MPI_Win_detach(w, b); MPI_Win_attach(w, b, 16 * sizeof(int));
      MPI_Get_address(&a[512], &mine[0]); MPI_Get_address(b, &mine[1]); a[0] = 1000 + me; a[1023] = 2000 + me; b[3] = 3000 + me;
      MPI_Allgather(mine, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
      MPI_Win_lock_all(0, w);
      at = MPI_Aint_add(all[2 * p], 511 * (MPI_Aint)sizeof(int)); MPI_Get(&v, 1, MPI_INT, p, at, 1, MPI_INT, w); MPI_Win_flush(p, w); CHECK(v == 2000 + p, "last %d", v);
      at = MPI_Aint_add(all[2 * p], -512 * (MPI_Aint)sizeof(int)); MPI_Get(&v, 1, MPI_INT, p, at, 1, MPI_INT, w); MPI_Win_flush(p, w); CHECK(v == 1000 + p, "first %d", v);
      CHECK(MPI_Aint_diff(all[2 * p], at) == 512 * (MPI_Aint)sizeof(int), "diff");
      MPI_Get(&v, 1, MPI_INT, p, MPI_Aint_add(all[2 * p + 1], 3 * sizeof(int)), 1, MPI_INT, w); MPI_Win_flush(p, w); CHECK(v == 3000 + p, "other region %d", v);
      MPI_Win_unlock_all(w); MPI_Barrier(MPI_COMM_WORLD); MPI_Win_detach(w, a); MPI_Win_detach(w, b); MPI_Win_free(&w); free(a); free(b); free(all); }
    /* 3750: rank 0 looks at its own memory until the others have added to it */
    { int *m, one = 1, r = 0; MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &m, &w); *m = 0; MPI_Barrier(MPI_COMM_WORLD); MPI_Win_lock_all(0, w);
      if (me == 0) do { MPI_Fetch_and_op(NULL, &r, MPI_INT, 0, 0, MPI_NO_OP, w); MPI_Win_flush_local(0, w); } while (r < n - 1);
      else { MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w); MPI_Win_flush(0, w); }
      MPI_Win_unlock_all(w); MPI_Win_free(&w); }
    MPI_Group_free(&world);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
