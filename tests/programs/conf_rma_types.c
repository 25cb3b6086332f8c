/* Derived datatypes at both ends of one-sided operations (MPI-3.1 section 11.3). */
#include <stddef.h>

#include "check.h"

enum { ROWS = 12, COLUMNS = 17 };

static double (*base)[COLUMNS];
static MPI_Win win;

static void reset(void)
{
    int i, j;

    OK(MPI_Win_fence(0, win));
    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++)
            base[i][j] = 100 * i + j;
    OK(MPI_Win_fence(0, win));
}

/* A column there from a row here, and back. */
static void columns(void)
{
    double row[ROWS], back[ROWS], spread[3 * ROWS];
    int i, j, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Datatype column, every_third;

    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_vector(ROWS, 1, 3, MPI_DOUBLE, &every_third));
    OK(MPI_Type_commit(&every_third));
    reset();
    for (i = 0; i < ROWS; i++)
        row[i] = 1000.0 * (check_rank + 1) + i;
    OK(MPI_Put(row, ROWS, MPI_DOUBLE, right, 5, 1, column, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++)
            CHECK(base[i][j] == (j == 5 ? 1000.0 * (left + 1) + i : 100 * i + j));
    for (i = 0; i < 3 * ROWS; i++)
        spread[i] = -1;
    OK(MPI_Get(back, ROWS, MPI_DOUBLE, right, 5, 1, column, win));
    OK(MPI_Get(spread, 1, every_third, right, 5, 1, column, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < ROWS; i++)
        CHECK(back[i] == row[i] && spread[3 * i] == row[i] && (i == ROWS - 1 || spread[3 * i + 1] == -1));
    OK(MPI_Put(spread, 1, every_third, right, 7, 1, column, win));
    OK(MPI_Accumulate(spread, 1, every_third, right, 8, 1, column, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < ROWS; i++) {
        double mine = 1000.0 * (left + 1) + i;

        CHECK(base[i][7] == mine && base[i][8] == mine + 100 * i + 8 && base[i][9] == 100 * i + 9);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get_accumulate(row, ROWS, MPI_DOUBLE, spread, 1, every_third, right, 8, 1, column, MPI_REPLACE, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < ROWS; i++)
        CHECK(spread[3 * i] == row[i] + 100 * i + 8 && base[i][8] == 1000.0 * (left + 1) + i);
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&every_third));
}

/* A datatype that is freed while its operations are under way, blocks of many lengths, negative displacements. */
static void blocks(void)
{
    static const int lengths[] = {3, 0, 1, 20, 2}, displacements[] = {40, 0, 3, 60, 10};
    double values[26], got[2 * 26];
    int i, j, at, right = (check_rank + 1) % check_size;
    MPI_Datatype blocks, twice;

    OK(MPI_Type_indexed(5, lengths, displacements, MPI_DOUBLE, &blocks));
    OK(MPI_Type_create_resized(blocks, 0, 90 * sizeof(double), &twice));
    OK(MPI_Type_commit(&twice));
    OK(MPI_Type_free(&blocks));
    reset();
    OK(MPI_Get(got, 52, MPI_DOUBLE, right, 0, 2, twice, win));
    OK(MPI_Type_free(&twice));
    OK(MPI_Win_fence(0, win));
    for (j = 0, at = 0; j < 2; j++)
        for (i = 0; i < 5; i++) {
            int k;

            for (k = 0; k < lengths[i]; k++, at++) {
                int place = 90 * j + displacements[i] + k;

                CHECK(got[at] == 100 * (place / COLUMNS) + place % COLUMNS);
            }
        }
    CHECK(at == 52);
    for (i = 0; i < 26; i++)
        values[i] = i;
    OK(MPI_Type_create_hvector(26, 1, -(MPI_Aint)sizeof(double), MPI_DOUBLE, &blocks));
    OK(MPI_Type_commit(&blocks));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(values, 26, MPI_DOUBLE, right, 30, 1, blocks, win));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < 26; i++)
        CHECK((&base[0][0])[30 - i] == i);
    OK(MPI_Type_free(&blocks));
}

/* A struct with holes, which stay as they are. */
static void structs(void)
{
    struct item { char c; double d; short s; } mine[5], *theirs;
    static const int lengths[] = {1, 1, 1};
    MPI_Aint places[3], lb;
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, packed, item;
    MPI_Win other;
    int i, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;

    OK(MPI_Get_address(&mine[0], &lb));
    OK(MPI_Get_address(&mine[0].c, &places[0]));
    OK(MPI_Get_address(&mine[0].d, &places[1]));
    OK(MPI_Get_address(&mine[0].s, &places[2]));
    for (i = 0; i < 3; i++)
        places[i] -= lb;
    OK(MPI_Type_create_struct(3, lengths, places, types, &packed));
    OK(MPI_Type_create_resized(packed, 0, sizeof(struct item), &item));
    OK(MPI_Type_commit(&item));
    OK(MPI_Win_allocate(5 * sizeof(struct item), sizeof(struct item), MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &other));
    memset(theirs, 0x55, 5 * sizeof(struct item));
    memset(mine, 0x33, sizeof mine);
    for (i = 0; i < 5; i++) {
        mine[i].c = (char)(check_rank + i);
        mine[i].d = check_rank + i / 8.0;
        mine[i].s = (short)(-check_rank - i);
    }
    OK(MPI_Win_fence(0, other));
    OK(MPI_Put(mine, 4, item, right, 1, 4, item, other));
    OK(MPI_Win_fence(0, other));
    for (i = 1; i < 5; i++)
        CHECK(theirs[i].c == (char)(left + i - 1) && theirs[i].d == left + (i - 1) / 8.0 &&
              theirs[i].s == -left - i + 1 && ((char *)&theirs[i])[1] == 0x55);
    CHECK(theirs[0].c == 0x55);
    OK(MPI_Win_free(&other));
    OK(MPI_Type_free(&packed));
    OK(MPI_Type_free(&item));
}

/* Pairs with a hole behind their index, which is not of them: every second one of the target's. */
static void pairs(void)
{
    struct pair { double value; int index, hole; } mine[2], was[2], *theirs;
    MPI_Datatype second, wrong;
    MPI_Win other;
    int i;

    OK(MPI_Win_allocate(4 * sizeof(struct pair), sizeof(struct pair), MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &other));
    for (i = 0; i < 4; i++)
        theirs[i] = (struct pair){-1, 99, 55};
    for (i = 0; i < 2; i++) {
        mine[i] = (struct pair){i ? check_rank : -check_rank, check_rank, 33};
        was[i] = (struct pair){-7, -7, 44};
    }
    OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &second));
    OK(MPI_Type_commit(&second));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Accumulate(mine, 2, MPI_DOUBLE_INT, 0, 1, 1, second, MPI_MAXLOC, other));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, was, 2, MPI_DOUBLE_INT, 0, 1, 1, second, MPI_NO_OP, other));
    OK(MPI_Win_fence(0, other));
    CHECK(was[0].value == 0 && was[0].index == 0 && was[0].hole == 44);
    CHECK(was[1].value == check_size - 1 && was[1].index == check_size - 1 && was[1].hole == 44);
    OK(MPI_Accumulate(mine, 2, MPI_DOUBLE_INT, 0, 1, 1, second, MPI_MINLOC, other));
    OK(MPI_Win_fence(0, other));
    for (i = 0; i < 4; i++) {
        double value = !check_rank && i % 2 ? i == 1 ? 1 - check_size : 0 : -1;
        int index = !check_rank && i % 2 ? i == 1 ? check_size - 1 : 0 : 99;

        CHECK(theirs[i].value == value && theirs[i].index == index && theirs[i].hole == 55);
    }
    OK(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &wrong));
    OK(MPI_Type_commit(&wrong));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(mine, 1, MPI_2INT, 0, 1, 1, wrong, MPI_MAXLOC, other));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Win_free(&other));
    OK(MPI_Type_free(&second));
    OK(MPI_Type_free(&wrong));
}

/* Pairs with a hole between value and index: two of three of the target's, by a datatype made of them and by a struct. */
static void holes(void)
{
    struct pair { short value; int index; } mine[2], was[2], *theirs;
    static const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(struct pair, value), offsetof(struct pair, index)};
    const MPI_Datatype parts[] = {MPI_SHORT, MPI_INT};
    MPI_Datatype first_and_last, item, two;
    MPI_Win other;
    int i;

    OK(MPI_Win_allocate(3 * sizeof(struct pair), sizeof(struct pair), MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &other));
    for (i = 0; i < 3; i++)
        theirs[i] = (struct pair){-1, 99};
    for (i = 0; i < 2; i++) {
        mine[i] = (struct pair){(short)(i ? check_rank / 2 : -check_rank), 32768 + check_rank};
        was[i] = (struct pair){-7, -7};
    }
    OK(MPI_Type_vector(2, 1, 2, MPI_SHORT_INT, &first_and_last));
    OK(MPI_Type_commit(&first_and_last));
    OK(MPI_Type_create_struct(2, lengths, places, parts, &item));
    OK(MPI_Type_contiguous(2, item, &two));
    OK(MPI_Type_commit(&two));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Accumulate(mine, 1, two, 0, 0, 1, first_and_last, MPI_MAXLOC, other));
    OK(MPI_Win_fence(0, other));
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, was, 2, MPI_SHORT_INT, 0, 0, 1, first_and_last, MPI_NO_OP, other));
    OK(MPI_Win_fence(0, other));
    CHECK(was[0].value == 0 && was[0].index == 32768);
    CHECK(was[1].value == (check_size - 1) / 2 && was[1].index == 32768 + (check_size - 1) / 2 * 2);
    CHECK(theirs[1].value == -1 && theirs[1].index == 99);
    OK(MPI_Win_fence(0, other));
    OK(MPI_Accumulate(mine, 2, MPI_SHORT_INT, check_rank, 0, 1, first_and_last, MPI_REPLACE, other));
    OK(MPI_Win_fence(0, other));
    for (i = 0; i < 3; i++)
        CHECK(i == 1 ? theirs[i].index == 99 : theirs[i].value == mine[i / 2].value && theirs[i].index == mine[i / 2].index);
    OK(MPI_Win_free(&other));
    OK(MPI_Type_free(&first_and_last));
    OK(MPI_Type_free(&item));
    OK(MPI_Type_free(&two));
}

/* Pairs of two numbers of a kind, Fortran's among them: combined as pairs, replaced as numbers. */
#define TWINS(name, type, datatype)                                                                          \
    static void name(void)                                                                                   \
    {                                                                                                        \
        struct { type value, index; } mine = {(type)(check_rank / 2), (type)check_rank}, was, *theirs;       \
        MPI_Datatype one;                                                                                    \
        MPI_Win other;                                                                                       \
                                                                                                             \
        OK(MPI_Win_allocate(sizeof *theirs, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &other));             \
        theirs->value = theirs->index = -1;                                                                  \
        OK(MPI_Type_contiguous(1, datatype, &one));                                                          \
        OK(MPI_Type_commit(&one));                                                                           \
        OK(MPI_Win_fence(0, other));                                                                         \
        OK(MPI_Accumulate(&mine, 1, one, 0, 0, 1, datatype, MPI_MAXLOC, other));                             \
        OK(MPI_Win_fence(0, other));                                                                         \
        OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &was, 1, one, 0, 0, 1, datatype, MPI_NO_OP, other)); \
        OK(MPI_Win_fence(0, other));                                                                         \
        CHECK(was.value == (check_size - 1) / 2 && was.index == (check_size - 1) / 2 * 2);                   \
        OK(MPI_Accumulate(&mine, 1, datatype, check_rank, 0, 1, one, MPI_REPLACE, other));                   \
        OK(MPI_Win_fence(0, other));                                                                         \
        CHECK(theirs->value == mine.value && theirs->index == mine.index);                                   \
        OK(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));                                                \
        FAILS(MPI_ERR_OP, MPI_Accumulate(&mine, 1, datatype, 0, 0, 1, datatype, MPI_SUM, other));            \
        OK(MPI_Win_free(&other));                                                                            \
        OK(MPI_Type_free(&one));                                                                             \
    }

TWINS(twins, int, MPI_2INT)
TWINS(integers, MPI_Fint, MPI_2INTEGER)
TWINS(reals, float, MPI_2REAL)
TWINS(doubles, double, MPI_2DOUBLE_PRECISION)

/* What has no bytes is combined with anything: datatypes without elements, and no elements of different datatypes. */
static void nothing(void)
{
    MPI_Datatype empty;
    double before = 7;
    int value = 5;

    OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    OK(MPI_Type_commit(&empty));
    base[0][0] = 3;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(NULL, 2, empty, 0, 0, 1, empty, MPI_SUM, win));
    OK(MPI_Accumulate(&value, 0, MPI_INT, 0, 0, 2, empty, MPI_MAX, win));
    OK(MPI_Accumulate(&value, 0, MPI_INT, 0, 0, 0, MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Get_accumulate(&value, 1, empty, &before, 0, MPI_DOUBLE, 0, 0, 0, MPI_INT, MPI_REPLACE, win));
    OK(MPI_Win_fence(0, win));
    CHECK(base[0][0] == 3 && before == 7);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, empty, MPI_SUM, win) != MPI_SUCCESS);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Type_free(&empty));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Win_allocate(ROWS * COLUMNS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    columns();
    blocks();
    structs();
    pairs();
    holes();
    twins();
    integers();
    reals();
    doubles();
    nothing();
    OK(MPI_Win_free(&win));
    return check_end("conf_rma_types");
}
