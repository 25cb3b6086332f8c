/* Conformance: packing (MPI-3.1, sections 4.2 and 4.3), also as external32. Any number of processes from 1. */
#include "check.h"

enum { ROOM = 512 };

static char buffer[ROOM];

/* A struct packed in parts and received unpacked, and the other way round. */
static void with_messages(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int position = 0, size = 0, numbers[4] = {1, 2, 3, 4}, got[4] = {0, 0, 0, 0}, i, count = -1;
    double half = 0.5 + check_rank, back = 0;
    MPI_Status status;

    OK(MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &size));
    CHECK(size >= 16);
    numbers[0] = check_rank;
    OK(MPI_Pack(numbers, 4, MPI_INT, buffer, ROOM, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&half, 1, MPI_DOUBLE, buffer, ROOM, &position, MPI_COMM_WORLD));
    CHECK(position == 24);
    OK(MPI_Sendrecv_replace(buffer, position, MPI_PACKED, right, 1, left, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_PACKED, &count));
    CHECK(count == position);
    position = 0;
    OK(MPI_Unpack(buffer, count, &position, got, 4, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(buffer, count, &position, &back, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(position == count && got[0] == left && back == 0.5 + left);
    for (i = 1; i < 4; i++)
        CHECK(got[i] == i + 1);
}

static void of_columns(void)
{
    int matrix[4][5], back[4][5], position = 0, size = 0, packed[8], i, j;
    MPI_Datatype column;

    for (i = 0; i < 4; i++)
        for (j = 0; j < 5; j++) {
            matrix[i][j] = 10 * i + j;
            back[i][j] = -1;
        }
    OK(MPI_Type_vector(4, 1, 5, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Pack_size(2, column, MPI_COMM_WORLD, &size));
    CHECK(size >= 32);
    OK(MPI_Pack(&matrix[0][1], 2, column, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(position == 32);
    for (i = 0; i < 8; i++)
        CHECK(packed[i] == 10 * (i % 4) + 1 + i / 4);
    position = 0;
    OK(MPI_Unpack(packed, sizeof packed, &position, &back[0][3], 1, column, MPI_COMM_WORLD));
    CHECK(position == 16);
    for (i = 0; i < 4; i++)
        for (j = 0; j < 5; j++)
            CHECK(back[i][j] == (j == 3 ? 10 * i + 1 : -1));
    OK(MPI_Type_free(&column));
}

static void outside(void)
{
    struct {
        int i;
        char c;
        double d[2];
    } value = {-2, 'x', {1.0, -0.5}}, back = {0, 0, {0, 0}};
    static const unsigned char wanted[] = {0xff, 0xff, 0xff, 0xfe, 'x', 0x3f, 0xf0, 0, 0, 0, 0,
                                           0,    0,    0xbf, 0xe0, 0,   0,    0,    0, 0, 0};
    int lengths[] = {1, 1, 2};
    MPI_Aint base, places[3], size = 0, position = 0;
    MPI_Datatype parts[] = {MPI_INT, MPI_CHAR, MPI_DOUBLE}, type;

    OK(MPI_Get_address(&value, &base));
    OK(MPI_Get_address(&value.i, &places[0]));
    OK(MPI_Get_address(&value.c, &places[1]));
    OK(MPI_Get_address(&value.d, &places[2]));
    places[0] -= base;
    places[1] -= base;
    places[2] -= base;
    OK(MPI_Type_create_struct(3, lengths, places, parts, &type));
    OK(MPI_Type_commit(&type));
    if (!IS_MPICH) { /* It crashes where a struct is to be converted. */
        OK(MPI_Pack_external_size("external32", 1, type, &size));
        CHECK(size == (MPI_Aint)sizeof wanted);
        memset(buffer, 0x55, sizeof buffer);
        OK(MPI_Pack_external("external32", &value, 1, type, buffer, ROOM, &position));
        CHECK(position == (MPI_Aint)sizeof wanted && memcmp(buffer, wanted, sizeof wanted) == 0);
        CHECK(buffer[sizeof wanted] == 0x55);
        position = 0;
        OK(MPI_Unpack_external("external32", buffer, sizeof wanted, &position, &back, 1, type));
        CHECK(position == (MPI_Aint)sizeof wanted);
        CHECK(back.i == -2 && back.c == 'x' && back.d[0] == 1.0 && back.d[1] == -0.5);
    }
    OK(MPI_Type_free(&type));
}

static void wrong_arguments(void)
{
    int numbers[4] = {0, 0, 0, 0}, position = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COUNT, MPI_Pack(numbers, -1, MPI_INT, buffer, ROOM, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Pack(numbers, 1, MPI_DATATYPE_NULL, buffer, ROOM, &position, MPI_COMM_WORLD));
    if (!IS_MPICH) { /* It packs what there is room for. */
        FAILS(MPI_ERR_ARG, MPI_Pack(numbers, 4, MPI_INT, buffer, 15, &position, MPI_COMM_WORLD));
        CHECK(position == 0);
    }
    FAILS(MPI_ERR_COMM, MPI_Pack(numbers, 4, MPI_INT, buffer, ROOM, &position, MPI_COMM_NULL));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_unused();
    check_start(&argc, &argv);
    with_messages();
    of_columns();
    outside();
    wrong_arguments();
    return check_end("conf_pack");
}
