/* Sizes that an int cannot hold (MPI-3.1 sections 4.1.5, 4.1.11, 4.2, 4.3), and queries of datatypes that stand for more
 * elements than anybody would wait for. Any number of ranks. */
#include "check.h"
#include <limits.h>
#include <wchar.h>

/* 2^50 pairs of a byte and a long, all at few places. */
static MPI_Datatype great(void)
{
    int lengths[2] = {1, 1}, i;
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_LONG}, pair, some, more;

    OK(MPI_Type_create_struct(2, lengths, places, types, &pair));
    OK(MPI_Type_create_resized(pair, 0, 1, &some));
    OK(MPI_Type_free(&pair));
    for (i = 0; i < 2; i++) {
        OK(MPI_Type_vector(1 << 25, 1, 3, some, &more));
        OK(MPI_Type_free(&some));
        OK(MPI_Type_create_resized(more, 0, 1, &some));
        OK(MPI_Type_free(&more));
    }
    OK(MPI_Type_commit(&some));
    return some;
}

static void sizes_of(MPI_Datatype type, int count, MPI_Count packed, MPI_Count external)
{
    int size = -7;
    MPI_Aint outside = -7;

    OK(MPI_Pack_size(count, type, MPI_COMM_WORLD, &size));
    CHECK(packed > INT_MAX ? size == MPI_UNDEFINED : size >= packed);
    OK(MPI_Pack_external_size("external32", count, type, &outside));
    if (sizeof outside == 8)
        CHECK(outside == (external < 0 ? MPI_UNDEFINED : external));
}

static void many(void)
{
    const MPI_Count pairs = (MPI_Count)1 << 50, each = 1 + (MPI_Count)sizeof(long);
    MPI_Datatype type = great();
    MPI_Status status;
    MPI_Count wide = -7;
    MPI_Aint low = -7, extent = -7;
    int size = -7, n = -7;

    OK(MPI_Type_size(type, &size));
    CHECK(size == MPI_UNDEFINED);
    OK(MPI_Type_size_x(type, &wide));
    CHECK(wide == pairs * each);
    OK(MPI_Type_get_extent(type, &low, &extent));
    CHECK(low == 0 && extent == 1);
    OK(MPI_Type_get_true_extent(type, &low, &extent));
    CHECK(low == 0 && extent > 1 << 25);
    sizes_of(type, 1, pairs * each, pairs * 5);
    sizes_of(type, 500, pairs * each * 500, pairs * 2500);
    if (!IS_MPICH) /* It multiplies. */
        sizes_of(type, INT_MAX, pairs * each, -1);
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Status_set_elements_x(&status, type, pairs * 2));
    OK(MPI_Get_count(&status, type, &n));
    CHECK(n == 1);
    OK(MPI_Get_elements(&status, type, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Get_elements_x(&status, type, &wide));
    CHECK(wide == pairs * 2);
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    MPI_Datatype mega, type;
    MPI_Count size;
    int blocks;

    check_start(&argc, &argv);
    sizes_of(MPI_INT, 1, sizeof(int), 4);
    sizes_of(MPI_LONG, 3, 3 * sizeof(long), 12);
    sizes_of(MPI_WCHAR, 3, 3 * sizeof(wchar_t), 6);
    sizes_of(MPI_DOUBLE_INT, 2, 2 * (sizeof(double) + sizeof(int)), 24);
    sizes_of(MPI_CHAR, 0, 0, 0);
    sizes_of(MPI_DOUBLE, INT_MAX, (MPI_Count)INT_MAX * 8, (MPI_Count)INT_MAX * 8);
    if (sizeof(MPI_Aint) == 8) {
        OK(MPI_Type_contiguous(1 << 20, MPI_INT, &mega));
        for (blocks = 1; blocks <= 1 << 20; blocks <<= 5) {
            size = (MPI_Count)blocks << 22;
            OK(MPI_Type_contiguous(blocks, mega, &type));
            OK(MPI_Type_commit(&type));
            sizes_of(type, 1, size, size);
            OK(MPI_Type_free(&type));
        }
        OK(MPI_Type_free(&mega));
        many();
    }
    return check_end("conf_queries");
}
