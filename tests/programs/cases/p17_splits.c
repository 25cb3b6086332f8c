/* Comm_split with equal, negative and extreme keys, Comm_create with disjoint groups, Dims_create of no dimensions and of what is
   half given, a grid of no dimensions, groups by ranges with negative steps (MPI-3.1 sections 6.3, 6.4.2, 7.5). 3 ranks or more. */
#include <mpi.h>
#include <stdio.h>
#include <limits.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
int main(void)
{
    int me, n, r, sz, k, e; MPI_Comm c, d; MPI_Group g, h, u;
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, INT_MAX, 5, &c); MPI_Comm_rank(c, &r); CHECK(r == me, "equal keys: %d is %d", me, r);
    /* c again with reversed keys, then equal keys keep the order of c, not of MPI_COMM_WORLD */
    MPI_Comm_split(c, 0, -me, &d); MPI_Comm_rank(d, &r); CHECK(r == n - 1 - me, "negative keys: %d is %d", me, r); MPI_Comm_free(&c);
    MPI_Comm_split(d, 0, 0, &c); MPI_Comm_rank(c, &r); CHECK(r == n - 1 - me, "equal keys in a reversed one: %d is %d", me, r); MPI_Comm_free(&c);
    MPI_Comm_split(d, 3, me == 0 ? INT_MIN : me == 1 ? INT_MAX : 0, &c); MPI_Comm_rank(c, &r);
    CHECK(r == (me == 0 ? 0 : me == 1 ? n - 1 : n - me), "extreme keys: %d is %d", me, r); MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, me == 1 ? MPI_UNDEFINED : me % 2, 0, &c); CHECK((c == MPI_COMM_NULL) == (me == 1), "undefined"); if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    MPI_Comm_split_type(MPI_COMM_WORLD, me == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &c); CHECK((c == MPI_COMM_NULL) == (me == 1), "split_type undefined"); if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    /* disjoint groups in one Comm_create; nobody in the third */
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    { int range[1][3]; range[0][0] = me % 2 ? (n - 1) - (n % 2) : (n - 1) - (n + 1) % 2; range[0][1] = me % 2; range[0][2] = -2; MPI_Group_range_incl(g, 1, range, &h); }
    MPI_Group_size(h, &sz); MPI_Group_rank(h, &r); CHECK(sz == (me % 2 ? n / 2 : (n + 1) / 2) && r == sz - 1 - me / 2, "range with step -2: %d of %d", r, sz);
    MPI_Comm_create(MPI_COMM_WORLD, h, &c); MPI_Comm_rank(c, &k); CHECK(k == r, "create: %d", k); { int v = 1, s; MPI_Allreduce(&v, &s, 1, MPI_INT, MPI_SUM, c); CHECK(s == sz, "create: sum %d", s); } MPI_Comm_free(&c);
    MPI_Comm_create_group(MPI_COMM_WORLD, h, 7, &c); MPI_Comm_rank(c, &k); CHECK(k == r, "create_group: %d", k); MPI_Comm_free(&c);
    { int in[3] = { MPI_PROC_NULL, 0, 1 }, out[3]; MPI_Group_translate_ranks(g, 3, in, h, out); CHECK(out[0] == MPI_PROC_NULL && (out[1] == MPI_UNDEFINED) == (me % 2 == 1), "translate: %d %d %d", out[0], out[1], out[2]); }
    MPI_Group_union(h, g, &u); MPI_Group_compare(u, g, &k); CHECK(k == MPI_SIMILAR || (k == MPI_IDENT && n < 2), "union keeps the order of the first: %d", k); MPI_Group_free(&u);
    MPI_Group_difference(g, g, &u); CHECK(u == MPI_GROUP_EMPTY, "nothing is MPI_GROUP_EMPTY");
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c); CHECK(c == MPI_COMM_NULL, "create of nobody");
    e = MPI_Dims_create(1, 0, NULL); CHECK(e == MPI_SUCCESS, "Dims_create(1, 0)");
    { int x[3] = { 0, 0, 0 }; MPI_Dims_create(16, 3, x); CHECK(x[0] == 4 && x[1] == 2 && x[2] == 2, "16 in 3: %d %d %d", x[0], x[1], x[2]); }
    { int x[3] = { 0, 3, 0 }; MPI_Dims_create(60, 3, x); CHECK(x[0] == 5 && x[1] == 3 && x[2] == 4, "60 with 3 given: %d %d %d", x[0], x[1], x[2]); }
    { int x[3] = { 5, 3, 4 }; e = MPI_Dims_create(60, 3, x); CHECK(e == MPI_SUCCESS && x[0] == 5, "all given"); }
    { int x[2] = { 7, 0 }, cls; e = MPI_Dims_create(60, 2, x); MPI_Error_class(e, &cls); CHECK(e != MPI_SUCCESS, "60 by 7: class %d", cls); }
    { int x[2] = { 0, 0 }; MPI_Dims_create(7, 2, x); CHECK(x[0] == 7 && x[1] == 1, "7 in 2: %d %d", x[0], x[1]); }
    { int x[1] = { 0 }; MPI_Dims_create(1 << 20, 1, x); CHECK(x[0] == 1 << 20, "one"); }
    MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &c); CHECK((c == MPI_COMM_NULL) == (me != 0), "a grid of no dimensions");
    if (c != MPI_COMM_NULL) { MPI_Cartdim_get(c, &k); MPI_Topo_test(c, &r); CHECK(k == 0 && r == MPI_CART, "of %d dimensions, topology %d", k, r); MPI_Cart_rank(c, NULL, &r); CHECK(r == 0, "rank in no dimensions %d", r); MPI_Cart_coords(c, 0, 0, NULL); MPI_Comm_free(&c); }
    { int x[2] = { n, 1 }, p[2] = { 1, 0 }, at[2] = { -1, 0 }, s, t; MPI_Cart_create(MPI_COMM_WORLD, 2, x, p, 0, &c); MPI_Cart_rank(c, at, &r); CHECK(r == n - 1, "place -1 is %d", r);
      MPI_Cart_shift(c, 0, 0, &s, &t); CHECK(s == me && t == me, "shift by 0: %d %d", s, t); MPI_Cart_shift(c, 0, -(n + 1), &s, &t); CHECK(s == (me + 1) % n && t == (me + n - 1) % n, "shift by -(n+1): %d %d", s, t);
      MPI_Cart_shift(c, 1, 1, &s, &t); CHECK(s == MPI_PROC_NULL && t == MPI_PROC_NULL, "shift out: %d %d", s, t); MPI_Comm_free(&c); }
    MPI_Group_free(&g); MPI_Group_free(&h); MPI_Comm_free(&d);
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
