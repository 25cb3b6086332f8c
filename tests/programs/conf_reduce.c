/* Conformance: reductions (MPI-3.1, section 5.9): every predefined operation with every type it is defined
 * for, at every root, in place, at lengths from nothing to many segments; the same bits every time. */
#include "check.h"

#include <complex.h>
#include <stdint.h>

/* What rank r gives at place i: small, so that products stay in range of a signed char for 4 ranks, and
 * otherwise wrap (unsigned) or stay exact (floating). */
static int value_of(int rank, int i)
{
    return (rank * 7 + i * 3) % 5;
}

static int product_value_of(int rank, int i)
{
    return (rank + i) % 4 == 1 ? 2 : 1;
}

enum { PLACES = 9 };

/* Compares Reduce (at one root) and Allreduce (in place every other time) with `fold`, an expression that
 * folds `a`, the accumulated value, with `b`, the next rank's, both of `ctype`. */
#define FOLD(ctype, mpitype, op, give, fold)                                                        \
    do {                                                                                            \
        ctype mine[PLACES], out[PLACES], want[PLACES];                                              \
        int i, r, root = (serial++) % check_size;                                                   \
        for (i = 0; i < PLACES; i++) {                                                              \
            mine[i] = (ctype)give(check_rank, i);                                                   \
            want[i] = (ctype)give(0, i);                                                            \
            for (r = 1; r < check_size; r++) {                                                      \
                ctype a = want[i], b = (ctype)give(r, i);                                           \
                want[i] = (ctype)(fold);                                                            \
            }                                                                                       \
            out[i] = (ctype)99;                                                                     \
        }                                                                                           \
        OK(MPI_Reduce(mine, out, PLACES, mpitype, op, root, MPI_COMM_WORLD));                       \
        for (i = 0; i < PLACES; i++)                                                                \
            CHECK(out[i] == (check_rank == root ? want[i] : (ctype)99));                            \
        memcpy(out, mine, sizeof out);                                                              \
        OK(MPI_Allreduce(serial % 2 ? MPI_IN_PLACE : mine, out, PLACES, mpitype, op, MPI_COMM_WORLD)); \
        for (i = 0; i < PLACES; i++)                                                                \
            CHECK(out[i] == want[i]);                                                               \
    } while (0)

static int serial;

#define ARITHMETIC(ctype, mpitype)                                   \
    do {                                                             \
        FOLD(ctype, mpitype, MPI_SUM, value_of, a + b);              \
        FOLD(ctype, mpitype, MPI_PROD, product_value_of, a *b);      \
        FOLD(ctype, mpitype, MPI_MAX, value_of, a > b ? a : b);      \
        FOLD(ctype, mpitype, MPI_MIN, value_of, a < b ? a : b);      \
    } while (0)

#define INTEGER(ctype, mpitype)                              \
    do {                                                     \
        ARITHMETIC(ctype, mpitype);                          \
        LOGICAL(ctype, mpitype);                             \
        BITWISE(ctype, mpitype);                             \
    } while (0)

#define LOGICAL(ctype, mpitype)                              \
    do {                                                     \
        FOLD(ctype, mpitype, MPI_LAND, value_of, a && b);    \
        FOLD(ctype, mpitype, MPI_LOR, value_of, a || b);     \
        FOLD(ctype, mpitype, MPI_LXOR, value_of, !a != !b);  \
    } while (0)

#define BITWISE(ctype, mpitype)                              \
    do {                                                     \
        FOLD(ctype, mpitype, MPI_BAND, value_of, a &b);      \
        FOLD(ctype, mpitype, MPI_BOR, value_of, a | b);      \
        FOLD(ctype, mpitype, MPI_BXOR, value_of, a ^ b);     \
    } while (0)

/* Each in a function of its own: together they would be one very large frame. */
#define GROUP(name, body) \
    static void name(void) \
    {                     \
        body;             \
    }

GROUP(on_signed_char, INTEGER(signed char, MPI_SIGNED_CHAR))
GROUP(on_unsigned_char, INTEGER(unsigned char, MPI_UNSIGNED_CHAR))
GROUP(on_short, INTEGER(short, MPI_SHORT))
GROUP(on_unsigned_short, INTEGER(unsigned short, MPI_UNSIGNED_SHORT))
GROUP(on_int, INTEGER(int, MPI_INT))
GROUP(on_unsigned, INTEGER(unsigned, MPI_UNSIGNED))
GROUP(on_long, INTEGER(long, MPI_LONG))
GROUP(on_unsigned_long, INTEGER(unsigned long, MPI_UNSIGNED_LONG))
GROUP(on_long_long, INTEGER(long long, MPI_LONG_LONG))
GROUP(on_unsigned_long_long, INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG))
GROUP(on_int8, INTEGER(int8_t, MPI_INT8_T))
GROUP(on_int16, INTEGER(int16_t, MPI_INT16_T))
GROUP(on_int32, INTEGER(int32_t, MPI_INT32_T))
GROUP(on_int64, INTEGER(int64_t, MPI_INT64_T))
GROUP(on_uint8, INTEGER(uint8_t, MPI_UINT8_T))
GROUP(on_uint16, INTEGER(uint16_t, MPI_UINT16_T))
GROUP(on_uint32, INTEGER(uint32_t, MPI_UINT32_T))
GROUP(on_uint64, INTEGER(uint64_t, MPI_UINT64_T))
GROUP(on_aint, INTEGER(MPI_Aint, MPI_AINT))
GROUP(on_offset, INTEGER(MPI_Offset, MPI_OFFSET))
GROUP(on_count, INTEGER(MPI_Count, MPI_COUNT))
/* Not the standard's, but every other MPI's: characters as whole numbers, truths of reals. */
GROUP(on_char, INTEGER(char, MPI_CHAR))
#define REAL(ctype, mpitype)          \
    do {                              \
        ARITHMETIC(ctype, mpitype);   \
        LOGICAL(ctype, mpitype);      \
    } while (0)
GROUP(on_float, REAL(float, MPI_FLOAT))
GROUP(on_double, REAL(double, MPI_DOUBLE))
GROUP(on_long_double, REAL(long double, MPI_LONG_DOUBLE))
GROUP(on_byte, BITWISE(unsigned char, MPI_BYTE))
GROUP(on_bool, LOGICAL(_Bool, MPI_C_BOOL))

static void on_float_complex(void)
{
    FOLD(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, value_of, a + b);
    FOLD(float complex, MPI_C_FLOAT_COMPLEX, MPI_PROD, product_value_of, a *b);
}

static void on_double_complex(void)
{
    FOLD(double complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, value_of, a + b);
    FOLD(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, product_value_of, a *b);
}

/* A product with parts on both axes: (1 + i)^n. */
static void complex_product(void)
{
    double complex mine = 1.0 + 1.0 * I, out = 0.0, want = 1.0;
    int r;

    for (r = 0; r < check_size; r++)
        want *= 1.0 + 1.0 * I;
    OK(MPI_Allreduce(&mine, &out, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    CHECK(out == want);
}

/* The value with its place; of equal values the lowest index (section 5.9.4). Indices are around 2^15. */
#define FAR (32768 - 2)
#define LOCATION(name, ctype, itype, mpitype)                                                  \
    static void name(void)                                                                     \
    {                                                                                          \
        struct {                                                                               \
            ctype value;                                                                       \
            itype index;                                                                       \
        } mine[4], low[4], high[4];                                                            \
        int i, r, root = check_size - 1;                                                       \
        for (i = 0; i < 4; i++) {                                                              \
            mine[i].value = (ctype)((check_rank * 3 + i * 5) % 4);                             \
            mine[i].index = (itype)FAR + check_size - check_rank;                              \
        }                                                                                      \
        memset(low, 0, sizeof low);                                                            \
        OK(MPI_Reduce(mine, low, 4, mpitype, MPI_MINLOC, root, MPI_COMM_WORLD));               \
        OK(MPI_Allreduce(mine, high, 4, mpitype, MPI_MAXLOC, MPI_COMM_WORLD));                 \
        for (i = 0; i < 4; i++) {                                                              \
            ctype least = (ctype)9, most = (ctype)-9;                                          \
            int least_at = 0, most_at = 0;                                                     \
            for (r = check_size - 1; r >= 0; r--) {                                            \
                ctype v = (ctype)((r * 3 + i * 5) % 4);                                        \
                if (v < least) {                                                               \
                    least = v;                                                                 \
                    least_at = FAR + check_size - r;                                           \
                }                                                                              \
                if (v > most) {                                                                \
                    most = v;                                                                  \
                    most_at = FAR + check_size - r;                                            \
                }                                                                              \
            }                                                                                  \
            CHECK(high[i].value == most && high[i].index == most_at);                          \
            if (check_rank == root)                                                            \
                CHECK(low[i].value == least && low[i].index == least_at);                      \
        }                                                                                      \
    }

LOCATION(loc_float, float, int, MPI_FLOAT_INT)
LOCATION(loc_double, double, int, MPI_DOUBLE_INT)
LOCATION(loc_long, long, int, MPI_LONG_INT)
LOCATION(loc_int, int, int, MPI_2INT)
LOCATION(loc_short, short, int, MPI_SHORT_INT)
LOCATION(loc_long_double, long double, int, MPI_LONG_DOUBLE_INT)
/* Fortran's. */
LOCATION(loc_2integer, int, int, MPI_2INTEGER)
LOCATION(loc_2real, float, float, MPI_2REAL)
LOCATION(loc_2double, double, double, MPI_2DOUBLE_PRECISION)

/* Lengths over several segments, every root, in place at the root, the same bits again and again. */
static void lengths(void)
{
    static const int counts[] = {0, 1, 2, 100, 127, 128, 129, 255, 256, 257, 1000, 9000};
    double *mine, *out, *again;
    int i, k, r, root, count, wrong;

    mine = check_room(9000 * sizeof *mine);
    out = check_room(9000 * sizeof *out);
    again = check_room(9000 * sizeof *again);
    for (k = 0; k < (int)(sizeof counts / sizeof counts[0]); k++) {
        count = counts[k];
        for (i = 0; i < count; i++)
            mine[i] = check_rank * 0.5 + i;
        for (root = 0; root < check_size; root += count > 300 && check_size > 1 ? check_size - 1 : 1) {
            for (i = 0; i < count; i++)
                out[i] = -1.0;
            OK(MPI_Reduce(mine, out, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
            wrong = 0;
            for (i = 0; i < count; i++)
                wrong += out[i] != (check_rank == root
                                        ? check_size * (check_size - 1) / 2 * 0.5 + (double)check_size * i
                                        : -1.0);
            CHECK(wrong == 0);
#ifdef MPICH_VERSION /* MPICH 4.0.2 crashes in this call beyond 2 KiB, but for root 0. */
            if (root != 0 && count > 256)
                continue;
#endif
            memcpy(again, mine, (size_t)count * sizeof *mine);
            OK(MPI_Reduce(check_rank == root ? MPI_IN_PLACE : again, check_rank == root ? again : NULL, count,
                          MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
            if (check_rank == root)
                CHECK(memcmp(again, out, (size_t)count * sizeof *out) == 0);
        }
    }

    /* Sums that depend on the order of their terms in the last bits. */
    for (i = 0; i < 300; i++)
        mine[i] = 1.0 / (check_rank * 3 + i + 1);
    OK(MPI_Allreduce(mine, out, 300, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (r = 0; r < 5; r++) {
        OK(MPI_Allreduce(mine, again, 300, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(memcmp(out, again, 300 * sizeof *out) == 0);
    }
    free(mine);
    free(out);
    free(again);
}

static void scans(void)
{
    int mine[3], out[3], i, r, want;

    for (i = 0; i < 3; i++)
        mine[i] = check_rank + i;
    OK(MPI_Scan(mine, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < 3; i++) {
        for (want = 0, r = 0; r <= check_rank; r++)
            want += r + i;
        CHECK(out[i] == want);
    }
    OK(MPI_Exscan(mine, out, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (check_rank > 0)
        for (i = 0; i < 3; i++)
            CHECK(out[i] == check_rank - 1 + i);
    OK(MPI_Scan(MPI_IN_PLACE, mine, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    for (i = 0; i < 3; i++)
        CHECK(mine[i] == i);
    {
        int a[2] = {2, 5}, b[2] = {3, 7};

        OK(MPI_Reduce_local(a, b, 2, MPI_INT, MPI_PROD));
        CHECK(b[0] == 6 && b[1] == 35 && a[0] == 2);
    }
}

/* Each rank gets its part of the result; parts of different lengths, none among them, and in place. */
static void scattered(void)
{
    int *counts = check_room((size_t)check_size * sizeof *counts), total = 0, before = 0, mine, i, r, pass;
    long *data, *out, *block;

    for (pass = 0; pass < 3; pass++) {
        static const int lengths[3][3] = {{1, 0, 2}, {300, 7, 129}, {0, 0, 5}};

        total = before = 0;
        for (r = 0; r < check_size; r++) {
            counts[r] = lengths[pass][r % 3];
            if (r < check_rank)
                before += counts[r];
            total += counts[r];
        }
        mine = counts[check_rank];
        data = check_room((size_t)total * sizeof *data);
        out = check_room((size_t)(mine + 1) * sizeof *out);
        for (i = 0; i < total; i++)
            data[i] = (long)(i + 1) * (check_rank + 1);
        out[mine] = -5;
        OK(MPI_Reduce_scatter(data, out, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (i = 0; i < mine; i++)
            CHECK(out[i] == (long)(before + i + 1) * check_size * (check_size + 1) / 2);
        CHECK(out[mine] == -5);
        for (i = 0; i < total; i++)
            CHECK(data[i] == (long)(i + 1) * (check_rank + 1));
        OK(MPI_Reduce_scatter(MPI_IN_PLACE, data, counts, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
        for (i = 0; i < mine; i++)
            CHECK(data[i] == (long)(before + i + 1) * check_size);
        for (; i < total; i++) /* the rest of the data stays, as with MPICH and Open MPI */
            CHECK(data[i] == (long)(i + 1) * (check_rank + 1));
        free(data);
        free(out);
    }
    block = check_room((size_t)check_size * 40 * sizeof *block);
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < 40 * check_size; i++)
            block[i] = i + 1000 * check_rank;
        if (pass == 0) {
            long part[40];

            OK(MPI_Reduce_scatter_block(block, part, 40, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
            for (i = 0; i < 40; i++)
                CHECK(part[i] == 40 * check_rank + i);
        } else {
            OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, block, 40, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
            for (i = 0; i < 40; i++)
                CHECK(block[i] == 40 * check_rank + i);
            for (; i < 40 * check_size; i++)
                CHECK(block[i] == i + 1000 * check_rank);
        }
    }
    free(block);
    free(counts);
}

/* 2 x 2 matrices do not commute: the order of the ranks must be kept (section 5.9.5). */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    const long *a = in;
    long *b = inout;
    int i;

    check_failed += *datatype != MPI_LONG || *len % 4 != 0;
    for (i = 0; i + 4 <= *len; i += 4) {
        long p = a[i] * b[i] + a[i + 1] * b[i + 2], q = a[i] * b[i + 1] + a[i + 1] * b[i + 3];
        long r = a[i + 2] * b[i] + a[i + 3] * b[i + 2], s = a[i + 2] * b[i + 1] + a[i + 3] * b[i + 3];

        b[i] = p;
        b[i + 1] = q;
        b[i + 2] = r;
        b[i + 3] = s;
    }
}

static void user_operation(void)
{
    long mine[4], out[4] = {0, 0, 0, 0}, want[4] = {1, 0, 0, 1}, next[4];
    int one = 4, r, root;
    int commutes = -1;
    MPI_Op op;
    MPI_Datatype type = MPI_LONG;

    for (r = 0; r < check_size; r++) {
        next[0] = 1;
        next[1] = r + 1;
        next[2] = r % 2;
        next[3] = 1;
        if (r == check_rank)
            memcpy(mine, next, sizeof mine);
        multiply(want, next, &one, &type);
        memcpy(want, next, sizeof want);
    }
    OK(MPI_Op_create(multiply, 1, &op));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(commutes);
    OK(MPI_Op_free(&op));
    OK(MPI_Op_create(multiply, 0, &op));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(!commutes);
    OK(MPI_Op_commutative(MPI_SUM, &commutes));
    CHECK(commutes);
    OK(MPI_Op_commutative(MPI_REPLACE, &commutes));
    CHECK(IS_MPICH || !commutes); /* to MPICH all predefined ones do */
    OK(MPI_Op_commutative(MPI_NO_OP, &commutes));
    CHECK(IS_MPICH || !commutes);
    for (root = 0; root < check_size; root++) {
        OK(MPI_Reduce(mine, out, 4, MPI_LONG, op, root, MPI_COMM_WORLD));
        if (check_rank == root)
            CHECK(memcmp(out, want, sizeof out) == 0);
    }
    OK(MPI_Allreduce(mine, out, 4, MPI_LONG, op, MPI_COMM_WORLD));
    CHECK(memcmp(out, want, sizeof out) == 0);
    OK(MPI_Scan(mine, out, 4, MPI_LONG, op, MPI_COMM_WORLD));
    if (check_rank == check_size - 1)
        CHECK(memcmp(out, want, sizeof out) == 0);
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
}

/* More operations at a time than a program is likely to have, and what a handle names that has been freed. */
static void many_operations(void)
{
    enum { OPERATIONS = 100 };
    static MPI_Op ops[OPERATIONS];
    MPI_Op freed, again;
    long mine[4] = {1, 1, 0, 1}, out[4];
    int i, commutes;

    for (i = 0; i < OPERATIONS; i++)
        OK(MPI_Op_create(multiply, i % 2, &ops[i]));
    for (i = 0; i < OPERATIONS; i++) {
        OK(MPI_Op_commutative(ops[i], &commutes));
        CHECK(commutes == i % 2);
    }
    OK(MPI_Allreduce(mine, out, 4, MPI_LONG, ops[OPERATIONS - 1], MPI_COMM_WORLD));
    CHECK(out[1] == check_size && out[2] == 0);
    freed = ops[7];
    OK(MPI_Op_free(&ops[7]));
    OK(MPI_Op_create(multiply, 1, &again));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!IS_MPICH) { /* It takes the handle, which names another operation there. */
        FAILS(MPI_ERR_OP, MPI_Allreduce(mine, out, 4, MPI_LONG, freed, MPI_COMM_WORLD));
        FAILS(MPI_ERR_OP, MPI_Op_free(&freed));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    ops[7] = again;
    for (i = 0; i < OPERATIONS; i++)
        OK(MPI_Op_free(&ops[i]));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    on_char();
    on_signed_char();
    on_unsigned_char();
    on_short();
    on_unsigned_short();
    on_int();
    on_unsigned();
    on_long();
    on_unsigned_long();
    on_long_long();
    on_unsigned_long_long();
    on_int8();
    on_int16();
    on_int32();
    on_int64();
    on_uint8();
    on_uint16();
    on_uint32();
    on_uint64();
    on_aint();
    on_offset();
    on_count();
    on_float();
    on_double();
    on_long_double();
    on_byte();
    on_bool();
    on_float_complex();
    on_double_complex();
    complex_product();
    loc_float();
    loc_double();
    loc_long();
    loc_int();
    loc_short();
    loc_long_double();
    loc_2integer();
    loc_2real();
    loc_2double();
    lengths();
    scans();
    scattered();
    user_operation();
    many_operations();
    return check_end("conf_reduce");
}
