/* Accumulates (MPI-3.1 section 11.3.4): all operations, types of all sizes, atomic and in order. */
#include "check.h"

#include <stdint.h>

#define EACH_INTEGER(X) \
    X(signed char, MPI_SIGNED_CHAR) X(short, MPI_SHORT) X(int, MPI_INT) X(long, MPI_LONG) \
    X(long long, MPI_LONG_LONG) X(unsigned char, MPI_UNSIGNED_CHAR) X(unsigned short, MPI_UNSIGNED_SHORT) \
    X(unsigned, MPI_UNSIGNED) X(unsigned long, MPI_UNSIGNED_LONG) X(int8_t, MPI_INT8_T) X(uint16_t, MPI_UINT16_T) \
    X(int32_t, MPI_INT32_T) X(uint64_t, MPI_UINT64_T) X(MPI_Aint, MPI_AINT)
#define EACH_REAL(X) X(float, MPI_FLOAT) X(double, MPI_DOUBLE) X(long double, MPI_LONG_DOUBLE)

/* Every rank adds to, multiplies, compares with and replaces elements of rank 0; 5 of them, so that results of fetches
 * are cut between elements of all sizes. */
#define OPERATIONS(type, datatype)                                                                                \
    {                                                                                                             \
        type *base, value[5], before[5];                                                                          \
        MPI_Win win;                                                                                              \
        int i;                                                                                                    \
                                                                                                                  \
        OK(MPI_Win_allocate(20 * sizeof(type), sizeof(type), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));        \
        for (i = 0; i < 20; i++)                                                                                  \
            base[i] = (type)(i < 5 ? 0 : i < 10 ? 1 : 5);                                                         \
        OK(MPI_Win_fence(0, win));                                                                                \
        for (i = 0; i < 5; i++)                                                                                   \
            value[i] = (type)(i + 1);                                                                             \
        OK(MPI_Accumulate(value, 5, datatype, 0, 0, 5, datatype, MPI_SUM, win));                                  \
        if (check_rank == check_size - 1)                                                                         \
            OK(MPI_Accumulate(value, 5, datatype, 0, 5, 5, datatype, MPI_PROD, win));                             \
        OK(MPI_Accumulate(value, 5, datatype, 0, 10, 5, datatype, MPI_MIN, win));                                 \
        OK(MPI_Accumulate(value, 5, datatype, 0, 15, 5, datatype, MPI_REPLACE, win));                             \
        OK(MPI_Win_fence(0, win));                                                                                \
        if (check_rank == 0)                                                                                      \
            for (i = 0; i < 5; i++)                                                                               \
                CHECK(base[i] == (type)((i + 1) * check_size) && base[5 + i] == (type)(i + 1) &&                  \
                      base[10 + i] == (type)(i + 1) && base[15 + i] == (type)(i + 1));                            \
        OK(MPI_Win_fence(0, win));                                                                                \
        OK(MPI_Get_accumulate(value, 5, datatype, before, 5, datatype, (check_rank + 1) % check_size, 0, 5,       \
                              datatype, MPI_SUM, win));                                                           \
        OK(MPI_Win_fence(0, win));                                                                                \
        for (i = 0; i < 5; i++)                                                                                   \
            CHECK(before[i] == (type)((check_rank + 1) % check_size == 0 ? (i + 1) * check_size : 0));            \
        OK(MPI_Fetch_and_op(&value[4], &before[0], datatype, check_rank, 3, MPI_MAX, win));                       \
        OK(MPI_Win_fence(0, win));                                                                                \
        CHECK(before[0] == (type)(check_rank == 0 ? 4 * (check_size + 1) : 4));                                   \
        CHECK(base[3] == (type)(check_rank == 0 && 4 * (check_size + 1) > 5 ? 4 * (check_size + 1) : 5));         \
        OK(MPI_Win_free(&win));                                                                                   \
    }

#define BITS(type, datatype)                                                                                      \
    {                                                                                                             \
        type *base, one = (type)(1 << (check_rank % 7)), all = 0;                                                 \
        MPI_Win win;                                                                                              \
        int i;                                                                                                    \
                                                                                                                  \
        for (i = 0; i < check_size; i++)                                                                          \
            all |= (type)(1 << (i % 7));                                                                          \
        OK(MPI_Win_allocate(6 * sizeof(type), sizeof(type), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));         \
        for (i = 0; i < 6; i++)                                                                                   \
            base[i] = (type)(i % 2 ? 127 : 0);                                                                    \
        OK(MPI_Win_fence(0, win));                                                                                \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 0, 1, datatype, MPI_BOR, win));                                   \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 1, 1, datatype, MPI_BAND, win));                                  \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 2, 1, datatype, MPI_LOR, win));                                   \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 3, 1, datatype, MPI_LAND, win));                                  \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 4, 1, datatype, MPI_LXOR, win));                                  \
        OK(MPI_Accumulate(&one, 1, datatype, 0, 5, 1, datatype, MPI_BXOR, win));                                  \
        OK(MPI_Win_fence(0, win));                                                                                \
        if (check_rank == 0) {                                                                                    \
            CHECK(base[0] == all && base[2] == 1 && base[3] == 1 && base[4] == (type)(check_size % 2));           \
            CHECK(base[1] == (check_size == 1 ? 1 : 0));                                                          \
        }                                                                                                         \
        OK(MPI_Win_free(&win));                                                                                   \
    }

#define SWAP(type, datatype)                                                                                      \
    {                                                                                                             \
        type *base, compare, new, old = 0;                                                                        \
        int turn;                                                                                                 \
        MPI_Win win;                                                                                              \
                                                                                                                  \
        OK(MPI_Win_allocate(2 * sizeof(type), sizeof(type), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));         \
        base[0] = base[1] = 0;                                                                                    \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                                          \
        OK(MPI_Win_lock_all(0, win));                                                                             \
        for (turn = 0; turn < 3; turn++) {                                                                        \
            compare = 0;                                                                                          \
            do { /* a lock of the program's own */                                                                \
                new = (type)(check_rank + 1);                                                                     \
                POLL(MPI_Compare_and_swap(&new, &compare, &old, datatype, 0, 0, win));                            \
                POLL(MPI_Win_flush(0, win));                                                                      \
            } while (old != compare);                                                                             \
            OK(MPI_Get(&old, 1, datatype, 0, 1, 1, datatype, win));                                               \
            OK(MPI_Win_flush(0, win));                                                                            \
            old++;                                                                                                \
            OK(MPI_Put(&old, 1, datatype, 0, 1, 1, datatype, win));                                               \
            OK(MPI_Win_flush(0, win));                                                                            \
            compare = new;                                                                                        \
            new = 0;                                                                                              \
            OK(MPI_Compare_and_swap(&new, &compare, &old, datatype, 0, 0, win));                                  \
            OK(MPI_Win_flush(0, win));                                                                            \
            CHECK(old == compare);                                                                                \
        }                                                                                                         \
        OK(MPI_Win_unlock_all(win));                                                                              \
        OK(MPI_Barrier(MPI_COMM_WORLD));                                                                          \
        if (check_rank == 0)                                                                                      \
            CHECK(base[0] == 0 && base[1] == (type)(3 * check_size));                                             \
        OK(MPI_Win_free(&win));                                                                                   \
    }

static void pairs(void)
{
    struct { double value; int index; } *doubles, mine, before;
    struct { int value; int index; } *ints, own;
    MPI_Win win, other;

    OK(MPI_Win_allocate(2 * sizeof *doubles, sizeof *doubles, MPI_INFO_NULL, MPI_COMM_WORLD, &doubles, &win));
    OK(MPI_Win_allocate(sizeof *ints, sizeof *ints, MPI_INFO_NULL, MPI_COMM_WORLD, &ints, &other));
    doubles[0].value = doubles[1].value = 0.5;
    doubles[0].index = doubles[1].index = -1;
    ints[0].value = 1000;
    ints[0].index = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(0, other));
    mine.value = own.value = 1 + check_rank / 2;
    mine.index = own.index = check_rank;
    OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Accumulate(&own, 1, MPI_2INT, 0, 0, 1, MPI_2INT, MPI_MINLOC, other));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(0, other));
    if (check_rank == 0) {
        CHECK(doubles[0].value == 1 + (check_size - 1) / 2 && doubles[0].index == (check_size - 1) / 2 * 2);
        CHECK(ints[0].value == 1 && ints[0].index == 0);
    }
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &before, 1, MPI_DOUBLE_INT, 0, 1, 1, MPI_DOUBLE_INT, MPI_NO_OP, win));
    OK(MPI_Win_fence(0, win));
    CHECK(before.value == 0.5 && before.index == -1);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&other));
}

/* Elements longer than any answer, from everywhere at once. */
static void wide(void)
{
    struct { long double re, im; } *base, one, before;
    MPI_Win win;
    int i;

    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base->re = base->im = 0;
    one.re = 1;
    one.im = -2;
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < 20; i++) {
        OK(MPI_Get_accumulate(&one, 1, MPI_C_LONG_DOUBLE_COMPLEX, &before, 1, MPI_C_LONG_DOUBLE_COMPLEX, 0, 0, 1,
                              MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, win));
    }
    OK(MPI_Win_fence(0, win));
    CHECK(before.re >= 19 && before.im == -2 * before.re);
    if (check_rank == 0)
        CHECK(base->re == 20.0L * check_size && base->im == -40.0L * check_size);
    OK(MPI_Win_free(&win));
}

/* No increment is lost, and no two ranks get the same number. */
static void tickets(void)
{
    enum { N = 30 };
    long *base, one = 1, ticket[N];
    char *seen = check_room(N * check_size), *all = check_room(N * check_size);
    MPI_Win win;
    int i;

    memset(seen, 0, N * check_size);
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    for (i = 0; i < N; i++)
        OK(MPI_Fetch_and_op(&one, &ticket[i], MPI_LONG, 0, 0, MPI_SUM, win));
    OK(MPI_Win_flush_local(0, win));
    for (i = 0; i < N; i++) {
        CHECK(ticket[i] >= 0 && ticket[i] < N * check_size && (i == 0 || ticket[i] > ticket[i - 1]));
        seen[ticket[i]]++;
    }
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Allreduce(seen, all, N * check_size, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < N * check_size; i++)
        CHECK(all[i] == 1);
    OK(MPI_Win_free(&win));
    free(seen);
    free(all);
}

/* Accumulates of one rank take effect in their order (section 11.7.1). */
static void order(void)
{
    enum { N = 50, LONG = 3000 };
    int *base, i, *values = check_room(LONG * sizeof(int)), *got = check_room(LONG * sizeof(int)), two = 2, last;
    MPI_Win win;

    OK(MPI_Win_allocate(LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, LONG * sizeof(int));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < N; i++) {
        OK(MPI_Accumulate(&i, 1, MPI_INT, (check_rank + 1) % check_size, 0, 1, MPI_INT, MPI_REPLACE, win));
        OK(MPI_Accumulate(&two, 1, MPI_INT, (check_rank + 1) % check_size, 0, 1, MPI_INT, MPI_PROD, win));
        OK(MPI_Fetch_and_op(&two, &got[i], MPI_INT, (check_rank + 1) % check_size, 0, MPI_SUM, win));
    }
    OK(MPI_Fetch_and_op(NULL, &last, MPI_INT, (check_rank + 1) % check_size, 0, MPI_NO_OP, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < N; i++)
        CHECK(got[i] == 2 * i);
    CHECK(last == 2 * N && base[0] == 2 * N);
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < LONG; i++)
        values[i] = i;
    OK(MPI_Accumulate(values, LONG, MPI_INT, (check_rank + 1) % check_size, 0, LONG, MPI_INT, MPI_REPLACE, win));
    OK(MPI_Get_accumulate(values, LONG, MPI_INT, got, LONG, MPI_INT, (check_rank + 1) % check_size, 0, LONG, MPI_INT,
                          MPI_NO_OP, win));
    OK(MPI_Accumulate(values, LONG, MPI_INT, (check_rank + 1) % check_size, 0, LONG, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < LONG; i++)
        CHECK(got[i] == i && base[i] == 2 * i);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get_accumulate(values, LONG, MPI_INT, got, LONG, MPI_INT, (check_rank + 1) % check_size, 0, LONG, MPI_INT,
                          MPI_REPLACE, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < LONG; i++)
        CHECK(got[i] == 2 * i && base[i] == i);
    OK(MPI_Win_free(&win));
    free(values);
    free(got);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (check_size <= 16) { /* what the smallest types hold */
        EACH_INTEGER(OPERATIONS)
        EACH_INTEGER(BITS)
    }
    EACH_REAL(OPERATIONS)
    SWAP(int, MPI_INT)
    SWAP(long, MPI_LONG)
    SWAP(unsigned char, MPI_UNSIGNED_CHAR)
    SWAP(short, MPI_SHORT)
    pairs();
    wide();
    tickets();
    order();
    return check_end("conf_rma_acc");
}
