/* Bounds of datatypes made of resized ones, negative
   extents, the order in which their data is packed (MPI-3.1 sections 4.1.2, 4.1.6 to 4.1.8). 1 rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
static void bounds(const char *what, MPI_Datatype t, long lb, long ex, long tlb, long tex, int size)
{
    MPI_Aint a, b, c, d; int n;
    MPI_Type_get_extent(t, &a, &b); MPI_Type_get_true_extent(t, &c, &d); MPI_Type_size(t, &n);
    CHECK(a == lb && b == ex && c == tlb && d == tex && n == size, "%s: lb %ld extent %ld true lb %ld true extent %ld size %d, wanted %ld %ld %ld %ld %d",
        what, (long)a, (long)b, (long)c, (long)d, n, lb, ex, tlb, tex, size);
}
int main(void)
{
    MPI_Datatype four, back, evil, t, u, v, one;
    unsigned char room[64], packed[64]; int i, at;
    MPI_Init(NULL, NULL);
    for (i = 0; i < 64; i++) room[i] = i;
    MPI_Type_contiguous(4, MPI_BYTE, &four);
    MPI_Type_create_resized(four, 6, -9, &back);
    bounds("resized to lb 6, extent -9", back, 6, -9, 0, 4, 4);
    MPI_Type_contiguous(3, back, &evil); MPI_Type_commit(&evil);
    bounds("three of it", evil, -12, 9, -18, 22, 12);
    at = 0; MPI_Pack(room + 30, 1, evil, packed, 64, &at, MPI_COMM_WORLD);
    { unsigned char w[12] = { 30, 31, 32, 33, 21, 22, 23, 24, 12, 13, 14, 15 }; CHECK(at == 12 && !memcmp(packed, w, 12), "order of what three of it packs"); }
    at = 0; MPI_Pack(room + 30, 2, evil, packed, 64, &at, MPI_COMM_WORLD);
    { unsigned char w[24] = { 30, 31, 32, 33, 21, 22, 23, 24, 12, 13, 14, 15, 39, 40, 41, 42, 30, 31, 32, 33, 21, 22, 23, 24 };
      CHECK(at == 24 && !memcmp(packed, w, 24), "two of those"); }
    MPI_Type_create_resized(MPI_INT, 0, 6, &t); MPI_Type_contiguous(1, t, &u); bounds("one of resized(int, 0, 6)", u, 0, 6, 0, 4, 4);
    MPI_Type_vector(2, 1, 2, t, &u); bounds("vector of it", u, 0, 18, 0, 16, 8);
    { int b[3] = { 2, 1, 3 }; MPI_Aint d[3] = { 0, 16, 26 }; int b1[2] = { 1, 1 }; MPI_Aint d1[2] = { 0, 8 };
      MPI_Datatype l1[2] = { MPI_DOUBLE, MPI_CHAR }, l[3] = { MPI_FLOAT, 0, MPI_CHAR };
      MPI_Type_create_struct(2, b1, d1, l1, &l[1]); bounds("double and char", l[1], 0, 16, 0, 9, 9);
      MPI_Type_create_struct(3, b, d, l, &u); bounds("the standard's example 4.6", u, 0, 32, 0, 29, 20); }
    { int sz[1] = { 10 }, sub[1] = { 4 }, st[1] = { 3 }; int b[2] = { 16, 1 }; MPI_Aint d[2] = { 0, 32 }; MPI_Datatype l[2] = { MPI_BYTE, 0 };
      MPI_Type_create_subarray(1, sz, sub, st, MPI_ORDER_C, MPI_INT, &l[1]); bounds("subarray", l[1], 0, 40, 12, 16, 16);
      MPI_Type_create_struct(2, b, d, l, &u); { MPI_Aint lb, ex; MPI_Type_get_extent(u, &lb, &ex); CHECK((lb == 32 && ex == 40) || (lb == 0 && ex == 72), "bytes and a subarray: %ld %ld", (long)lb, (long)ex); } /* markers count (4.1.6), or do not */ }
    MPI_Type_create_resized(MPI_INT, 4, 12, &t); MPI_Type_create_resized(t, 4, 12, &u); bounds("resized twice", u, 4, 12, 0, 4, 4);
    MPI_Type_contiguous(3, u, &v); bounds("three of resized twice", v, 4, 36, 0, 28, 12);
    /* a type whose extent is less than its data: blocks overlap where it is read */
    MPI_Type_contiguous(4, MPI_BYTE, &t); MPI_Type_create_resized(t, 0, 1, &u); MPI_Type_contiguous(3, u, &v); MPI_Type_commit(&v);
    bounds("overlapping", v, 0, 3, 0, 6, 12);
    at = 0; MPI_Pack(room, 1, v, packed, 64, &at, MPI_COMM_WORLD);
    { unsigned char w[12] = { 0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5 }; CHECK(at == 12 && !memcmp(packed, w, 12), "overlapping blocks"); }
    MPI_Type_create_hvector(3, 2, -5, MPI_BYTE, &t); MPI_Type_commit(&t); bounds("hvector backwards", t, -10, 12, -10, 12, 6);
    at = 0; MPI_Pack(room + 20, 1, t, packed, 64, &at, MPI_COMM_WORLD);
    { unsigned char w[6] = { 20, 21, 15, 16, 10, 11 }; CHECK(at == 6 && !memcmp(packed, w, 6), "backwards"); }
    { MPI_Aint d[2] = { 100, -100 }; int b[2] = { 0, 1 }; MPI_Type_create_hindexed(2, b, d, MPI_INT, &t); bounds("a block of none does not count", t, -100, 4, -100, 4, 4); }
    { MPI_Aint d[1] = { 8 }; int b[1] = { 0 }; MPI_Type_create_hindexed(1, b, d, MPI_INT, &t); { int n = -1; MPI_Type_size(t, &n); CHECK(n == 0, "size of none %d", n); } }
    MPI_Type_dup(evil, &one); bounds("dup", one, -12, 9, -18, 22, 12);
    MPI_Sendrecv(room + 30, 1, one, 0, 0, packed, 12, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(packed[0] == 30 && packed[4] == 21 && packed[8] == 12, "a dup that was not committed is as its original");
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
