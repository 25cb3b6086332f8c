/* Predefined operations on the types that are used least: pairs (the least index wins), logical ones give 0 or 1, complex products,
   long double, MPI_AINT, MPI_OFFSET, MPI_COUNT, bytes (MPI-3.1 section 5.9.2 to 5.9.4). 1 to 5 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
static int bad, me, n;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
#define LOC(T, name, mpi) do { struct { T v; int i; } a[37], r[37]; int k; memset(a, 0, sizeof a); \
    for (k = 0; k < 37; k++) a[k].v = (T)(k % 2 ? 5 : (me * 3 + k) % 4), a[k].i = 10 + n - me; \
    MPI_Allreduce(a, r, 37, mpi, MPI_MINLOC, MPI_COMM_WORLD); \
    for (k = 0; k < 37; k++) { int w = -1, j; T v = 0; for (j = 0; j < n; j++) { T x = (T)(k % 2 ? 5 : (j * 3 + k) % 4); int i = 10 + n - j; if (w < 0 || x < v || (x == v && i < w)) v = x, w = i; } \
        CHECK(r[k].v == v && r[k].i == w, "MINLOC " name " %d: %g at %d, wanted %g at %d", k, (double)r[k].v, r[k].i, (double)v, w); if (bad) break; } \
    MPI_Scan(a, r, 37, mpi, MPI_MAXLOC, MPI_COMM_WORLD); \
    for (k = 0; k < 37; k++) { int w = -1, j; T v = 0; for (j = 0; j <= me; j++) { T x = (T)(k % 2 ? 5 : (j * 3 + k) % 4); int i = 10 + n - j; if (w < 0 || x > v || (x == v && i < w)) v = x, w = i; } \
        CHECK(r[k].v == v && r[k].i == w, "MAXLOC " name " %d: %g at %d, wanted %g at %d", k, (double)r[k].v, r[k].i, (double)v, w); if (bad) break; } } while (0)
#define LOGIC(T, name, mpi) do { T a[5], r[5]; int k; for (k = 0; k < 5; k++) a[k] = (T)(k == 0 ? 0 : k == 1 ? 2 : k == 2 ? (me == 0) * 4 : k == 3 ? 4 * (me != 0) : 1 << (me % 5)); \
    MPI_Allreduce(a, r, 5, mpi, MPI_LAND, MPI_COMM_WORLD); CHECK(r[0] == 0 && r[1] == 1 && r[2] == (n == 1) && r[3] == 0 && r[4] == 1, "LAND " name " %d %d %d %d %d", (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)r[4]); \
    MPI_Allreduce(a, r, 5, mpi, MPI_LOR, MPI_COMM_WORLD); CHECK(r[0] == 0 && r[1] == 1 && r[2] == 1 && r[3] == (n > 1) && r[4] == 1, "LOR " name " %d %d %d %d %d", (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)r[4]); \
    MPI_Allreduce(a, r, 5, mpi, MPI_LXOR, MPI_COMM_WORLD); CHECK(r[0] == 0 && r[1] == n % 2 && r[2] == 1 && r[3] == (n - 1) % 2 && r[4] == n % 2, "LXOR " name " %d %d %d %d %d", (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)r[4]); } while (0)
#define WHOLE(T, name, mpi) do { T a = (T)(me + 1), r = 0, w = 0, m = 1, x = 0, o = 0; int j; for (j = 0; j < n; j++) w += (T)(j + 1), m *= (T)(j + 1), x ^= (T)(j + 1), o |= (T)(j + 1); \
    MPI_Allreduce(&a, &r, 1, mpi, MPI_SUM, MPI_COMM_WORLD); CHECK(r == w, "SUM " name); MPI_Allreduce(&a, &r, 1, mpi, MPI_PROD, MPI_COMM_WORLD); CHECK(r == m, "PROD " name); \
    MPI_Allreduce(&a, &r, 1, mpi, MPI_BXOR, MPI_COMM_WORLD); CHECK(r == x, "BXOR " name); MPI_Allreduce(&a, &r, 1, mpi, MPI_BOR, MPI_COMM_WORLD); CHECK(r == o, "BOR " name); \
    a = (T)-(me + 1); MPI_Allreduce(&a, &r, 1, mpi, MPI_MAX, MPI_COMM_WORLD); CHECK(r == (T)-1 , "MAX " name); } while (0)
#define COMPLEX(T, name, mpi) do { T a[3], r[3], w[3]; int j, k; for (k = 0; k < 3; k++) { a[k] = (me + 1) + (k - me) * I; w[k] = 1; for (j = 0; j < n; j++) w[k] *= (j + 1) + (k - j) * I; } \
    MPI_Allreduce(a, r, 3, mpi, MPI_PROD, MPI_COMM_WORLD); for (k = 0; k < 3; k++) CHECK(r[k] == w[k], "PROD " name " %g%+gi wanted %g%+gi", (double)creal(r[k]), (double)cimag(r[k]), (double)creal(w[k]), (double)cimag(w[k])); \
    for (k = 0; k < 3; k++) { w[k] = 0; for (j = 0; j < n; j++) w[k] += (j + 1) + (k - j) * I; } MPI_Reduce(a, r, 3, mpi, MPI_SUM, n - 1, MPI_COMM_WORLD); if (me == n - 1) for (k = 0; k < 3; k++) CHECK(r[k] == w[k], "SUM " name); } while (0)
int main(void)
{
    MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_size(MPI_COMM_WORLD, &n);
    LOC(short, "short", MPI_SHORT_INT); LOC(int, "int", MPI_2INT); LOC(long, "long", MPI_LONG_INT); LOC(float, "float", MPI_FLOAT_INT); LOC(double, "double", MPI_DOUBLE_INT); LOC(long double, "long double", MPI_LONG_DOUBLE_INT);
    LOGIC(int, "int", MPI_INT); LOGIC(unsigned short, "unsigned short", MPI_UNSIGNED_SHORT); LOGIC(long long, "long long", MPI_LONG_LONG); LOGIC(signed char, "signed char", MPI_SIGNED_CHAR); LOGIC(bool, "bool", MPI_C_BOOL); LOGIC(uint64_t, "uint64", MPI_UINT64_T);
    WHOLE(MPI_Aint, "aint", MPI_AINT); WHOLE(MPI_Offset, "offset", MPI_OFFSET); WHOLE(MPI_Count, "count", MPI_COUNT); WHOLE(int8_t, "int8", MPI_INT8_T); WHOLE(int64_t, "int64", MPI_INT64_T); WHOLE(short, "short", MPI_SHORT);
    COMPLEX(float complex, "float complex", MPI_C_FLOAT_COMPLEX); COMPLEX(double complex, "double complex", MPI_C_DOUBLE_COMPLEX); COMPLEX(long double complex, "long double complex", MPI_C_LONG_DOUBLE_COMPLEX);
    { unsigned char a[9], r[9], x[9]; int k, j; for (k = 0; k < 9; k++) { a[k] = 17 * me + k; x[k] = 0xff; for (j = 0; j < n; j++) x[k] &= 17 * j + k; } MPI_Allreduce(a, r, 9, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD); CHECK(!memcmp(r, x, 9), "BAND of bytes"); }
    { long double a = 1 + 1e-17L * me, r; MPI_Allreduce(&a, &r, 1, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD); CHECK(r == 1 + 1e-17L * (n - 1), "MAX of long double"); }
    { double a = me % 2 ? -0.0 : 0.0, r; MPI_Allreduce(&a, &r, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); CHECK(r == 0, "sum of zeros"); }
    { int x = 3, y = 4, k; MPI_Reduce_local(&x, &y, 0, MPI_INT, MPI_SUM); CHECK(y == 4, "Reduce_local of nothing"); MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_MAX); CHECK(y == 4, "Reduce_local"); MPI_Op_commutative(MPI_MAXLOC, &k); CHECK(k, "commutative"); }
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
