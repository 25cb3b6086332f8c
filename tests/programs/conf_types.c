/* Conformance: datatypes (MPI-3.1, chapter 4): constructors, bounds, how they were made, names, errors.
 *
 * Every rank checks by itself; messages of such types are conf_typed.c's. Any number of processes from 1.
 */
#include "check.h"

#include <stddef.h>

struct mixed {
    char c;
    double d;
    int i[3];
    char end;
};

static void bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent,
                   int size)
{
    MPI_Aint got_lb = -77, got_extent = -77;
    MPI_Count lb_x = -77, extent_x = -77, size_x = -77;
    int got_size = -77;

    OK(MPI_Type_get_extent(type, &got_lb, &got_extent));
    CHECK(got_lb == lb && got_extent == extent);
    OK(MPI_Type_get_extent_x(type, &lb_x, &extent_x));
    CHECK(lb_x == lb && extent_x == extent);
    OK(MPI_Type_get_true_extent(type, &got_lb, &got_extent));
    CHECK(got_lb == true_lb && got_extent == true_extent);
    OK(MPI_Type_get_true_extent_x(type, &lb_x, &extent_x));
    CHECK(lb_x == true_lb && extent_x == true_extent);
    OK(MPI_Type_size(type, &got_size));
    OK(MPI_Type_size_x(type, &size_x));
    CHECK(got_size == size && size_x == size);
}

/* What MPI_Type_get_envelope says, and MPI_Type_get_contents's integers and addresses; frees the type. */
static void made_of(MPI_Datatype *type, int combiner, int integers, const int *wanted, int addresses,
                    const MPI_Aint *wanted_addresses, int types, MPI_Datatype first)
{
    int n_int = -1, n_addr = -1, n_type = -1, how = -1, ints[32], i;
    MPI_Aint addrs[8];
    MPI_Datatype parts[8];

    OK(MPI_Type_get_envelope(*type, &n_int, &n_addr, &n_type, &how));
    CHECK(n_int == integers && n_addr == addresses && n_type == types && how == combiner);
    if (n_int != integers || n_addr != addresses || n_type != types)
        return;
    OK(MPI_Type_get_contents(*type, n_int, n_addr, n_type, ints, addrs, parts));
    for (i = 0; i < integers; i++)
        CHECK(ints[i] == wanted[i]);
    for (i = 0; i < addresses; i++)
        CHECK(addrs[i] == wanted_addresses[i]);
    CHECK(parts[0] == first);
    OK(MPI_Type_free(type));
    CHECK(*type == MPI_DATATYPE_NULL);
}

static void regular(void)
{
    MPI_Datatype type;
    int v[] = {3, 2, 4};

    OK(MPI_Type_contiguous(5, MPI_INT, &type));
    bounds(type, 0, 20, 0, 20, 20);
    made_of(&type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){5}, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_contiguous(0, MPI_INT, &type));
    bounds(type, 0, 0, 0, 0, 0);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    bounds(type, 0, 40, 0, 40, 24);
    made_of(&type, MPI_COMBINER_VECTOR, 3, v, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_vector(3, 1, -2, MPI_INT, &type));
    bounds(type, -16, 20, -16, 20, 12);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type));
    bounds(type, 0, 48, 0, 48, 24);
    made_of(&type, MPI_COMBINER_HVECTOR, 2, (int[]){3, 2}, 1, (MPI_Aint[]){20}, 1, MPI_INT);
}

static void irregular(void)
{
    int lengths[] = {1, 0, 2}, places[] = {4, 9, 1}, wanted[] = {3, 1, 0, 2, 4, 9, 1};
    MPI_Aint bytes[] = {24, 100, 8};
    MPI_Datatype type;

    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    bounds(type, 4, 16, 4, 16, 12);
    made_of(&type, MPI_COMBINER_INDEXED, 7, wanted, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
    bounds(type, 8, 20, 8, 20, 12);
    made_of(&type, MPI_COMBINER_HINDEXED, 4, (int[]){3, 1, 0, 2}, 3, bytes, 1, MPI_INT);
    OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
    bounds(type, 4, 40, 4, 40, 24);
    made_of(&type, MPI_COMBINER_INDEXED_BLOCK, 5, (int[]){3, 2, 4, 9, 1}, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
    bounds(type, 8, 100, 8, 100, 24);
    made_of(&type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){3, 2}, 3, bytes, 1, MPI_INT);
}

static void structs(void)
{
    int lengths[] = {1, 1, 3, 1};
    MPI_Aint places[] = {offsetof(struct mixed, c), offsetof(struct mixed, d), offsetof(struct mixed, i),
                         offsetof(struct mixed, end)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_CHAR}, type, twice;
    int counts[] = {4, 1, 1, 3, 1};

    OK(MPI_Type_create_struct(4, lengths, places, parts, &type));
    bounds(type, 0, sizeof(struct mixed), 0, offsetof(struct mixed, end) + 1, 22);
    OK(MPI_Type_contiguous(2, type, &twice));
    bounds(twice, 0, 2 * sizeof(struct mixed), 0, sizeof(struct mixed) + offsetof(struct mixed, end) + 1, 44);
    OK(MPI_Type_free(&twice));
    made_of(&type, MPI_COMBINER_STRUCT, 5, counts, 4, places, 4, MPI_CHAR);
    OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
    bounds(type, 0, 0, 0, 0, 0);
    OK(MPI_Type_free(&type));
}

static void resized(void)
{
    MPI_Datatype type, two, back;
    MPI_Aint wanted[] = {-8, 24};

    OK(MPI_Type_create_resized(MPI_INT, -8, 24, &type));
    bounds(type, -8, 24, 0, 4, 4);
    OK(MPI_Type_contiguous(2, type, &two));
    bounds(two, -8, 48, 0, 28, 8);
    OK(MPI_Type_create_resized(two, 0, 4, &back));
    bounds(back, 0, 4, 0, 28, 8);
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&back));
    made_of(&type, MPI_COMBINER_RESIZED, 0, NULL, 2, wanted, 1, MPI_INT);
    OK(MPI_Type_create_resized(MPI_DOUBLE, 8, -16, &type));
    bounds(type, 8, -16, 0, 8, 8);
    OK(MPI_Type_free(&type));
}

static void arrays(void)
{
    int sizes[] = {4, 5, 6}, subsizes[] = {2, 1, 3}, starts[] = {1, 3, 2};
    int wanted[] = {3, 4, 5, 6, 2, 1, 3, 1, 3, 2, MPI_ORDER_C};
    int gsizes[] = {5, 4}, distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int dargs[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, psizes[] = {2, 2};
    int dwanted[] = {4, 3, 2, 5, 4, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, 2, MPI_DISTRIBUTE_DFLT_DARG, 2, 2,
                     MPI_ORDER_C};
    MPI_Datatype type;

    OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type));
    bounds(type, 0, 480, 200, 132, 24);
    made_of(&type, MPI_COMBINER_SUBARRAY, 11, wanted, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
    bounds(type, 0, 480, 4 * (1 + 3 * 4 + 2 * 20), 4 * (2 + 2 * 20), 24);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_darray(4, 3, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type));
    /* Rows 2 and 3, columns 2 and 3. */
    bounds(type, 0, 80, 40, 24, 16);
    made_of(&type, MPI_COMBINER_DARRAY, 12, dwanted, 0, NULL, 1, MPI_INT);
    OK(MPI_Type_create_darray(4, 0, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type));
    /* Rows 0, 1 and 4, columns 0 and 1. */
    bounds(type, 0, 80, 0, 72, 24);
    OK(MPI_Type_free(&type));
}

static void copies_and_names(void)
{
    MPI_Datatype type, copy, parts[1];
    char name[MPI_MAX_OBJECT_NAME];
    int len = -1, counts[4], ints[4], back[1];
    MPI_Aint addrs[1];

    OK(MPI_Type_vector(2, 1, 3, MPI_SHORT, &type));
    OK(MPI_Type_get_name(type, name, &len));
    CHECK(len == 0 && name[0] == 0);
    OK(MPI_Type_set_name(type, "a column"));
    OK(MPI_Type_dup(type, &copy));
    OK(MPI_Type_get_name(type, name, &len));
    CHECK(len == 8 && strcmp(name, "a column") == 0);
    OK(MPI_Type_free(&type));
    bounds(copy, 0, 8, 0, 8, 4);
    OK(MPI_Type_get_envelope(copy, &counts[0], &counts[1], &counts[2], &counts[3]));
    CHECK(counts[0] == 0 && counts[1] == 0 && counts[2] == 1 && counts[3] == MPI_COMBINER_DUP);
    /* What it is a copy of is still there, though it was freed. */
    OK(MPI_Type_get_contents(copy, 0, 0, 1, back, addrs, parts));
    OK(MPI_Type_get_envelope(parts[0], &counts[0], &counts[1], &counts[2], &counts[3]));
    CHECK(counts[0] == 3 && counts[3] == MPI_COMBINER_VECTOR);
    OK(MPI_Type_get_contents(parts[0], 3, 0, 1, ints, addrs, &type));
    CHECK(ints[0] == 2 && ints[1] == 1 && ints[2] == 3 && type == MPI_SHORT);
    OK(MPI_Type_free(&parts[0]));
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_get_name(MPI_DOUBLE, name, &len));
    CHECK(len == 10 && strcmp(name, "MPI_DOUBLE") == 0);
    OK(MPI_Type_get_name(MPI_2INT, name, &len));
    CHECK(strcmp(name, "MPI_2INT") == 0);
    OK(MPI_Type_get_envelope(MPI_INT, &counts[0], &counts[1], &counts[2], &counts[3]));
    CHECK(counts[0] == 0 && counts[1] == 0 && counts[2] == 0 && counts[3] == MPI_COMBINER_NAMED);
}

/* What other languages call datatypes has handles and names of its own (annex A.1). */
static void other_languages(void)
{
#define NAMED(type) {type, #type}
    static const struct { MPI_Datatype type; const char *name; } all[] = {
        NAMED(MPI_CXX_BOOL), NAMED(MPI_CXX_FLOAT_COMPLEX), NAMED(MPI_CXX_DOUBLE_COMPLEX),
        NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX), NAMED(MPI_CHARACTER), NAMED(MPI_LOGICAL), NAMED(MPI_INTEGER),
        NAMED(MPI_REAL), NAMED(MPI_DOUBLE_PRECISION), NAMED(MPI_COMPLEX), NAMED(MPI_DOUBLE_COMPLEX),
        NAMED(MPI_2INTEGER), NAMED(MPI_INTEGER1), NAMED(MPI_INTEGER2), NAMED(MPI_INTEGER4), NAMED(MPI_INTEGER8),
#ifdef MPI_LOGICAL1
        NAMED(MPI_LOGICAL1), NAMED(MPI_LOGICAL2), NAMED(MPI_LOGICAL4), NAMED(MPI_LOGICAL8),
#endif
        NAMED(MPI_REAL4), NAMED(MPI_REAL8), NAMED(MPI_COMPLEX8), NAMED(MPI_COMPLEX16), NAMED(MPI_LB), NAMED(MPI_UB),
    };
    char name[MPI_MAX_OBJECT_NAME];
    int len, i, ints[1], sum = -1;
    MPI_Aint addrs[1];
    MPI_Datatype type, of;

    for (i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        OK(MPI_Type_get_name(all[i].type, name, &len));
        CHECK(strcmp(name, all[i].name) == 0);
    }
    OK(MPI_Type_contiguous(2, MPI_REAL8, &type));
    OK(MPI_Type_get_contents(type, 1, 0, 1, ints, addrs, &of));
    CHECK(of == MPI_REAL8 && of != MPI_DOUBLE);
    bounds(type, 0, 16, 0, 16, 16);
    OK(MPI_Type_free(&type));
    OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size * (check_size - 1) / 2);
}

static void addresses(void)
{
    static int numbers[10];
    MPI_Aint first = 0, second = 0;

    OK(MPI_Get_address(&numbers[0], &first));
    OK(MPI_Get_address(&numbers[7], &second));
    CHECK(second - first == 7 * (MPI_Aint)sizeof numbers[0]);
    CHECK(MPI_Aint_diff(second, first) == 7 * (MPI_Aint)sizeof numbers[0]);
    CHECK(MPI_Aint_add(first, 7 * (MPI_Aint)sizeof numbers[0]) == second);
}

static void sizes_by_class(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int size = -1;

    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 2);
    OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 16);
}

static void pairs(void)
{
    struct {
        double value;
        int index;
    } double_int[2];
    struct {
        short value;
        int index;
    } short_int[2];

    bounds(MPI_DOUBLE_INT, 0, sizeof double_int[0], 0, 12, 12);
    bounds(MPI_SHORT_INT, 0, sizeof short_int[0], 0, 8, 6);
    bounds(MPI_2INT, 0, 8, 0, 8, 8);
    bounds(MPI_FLOAT_INT, 0, 8, 0, 8, 8);
}

static void wrong_arguments(void)
{
    int one = 1, zero = 0, n;
    int sizes[] = {4}, subsizes[] = {5}, starts[] = {0};
    MPI_Aint place = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL, parts[1], ints = MPI_INT, made;
    int numbers[4] = {0, 0, 0, 0};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    FAILS(MPI_ERR_COUNT, MPI_Type_vector(-1, 1, 1, MPI_INT, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hvector(1, 1, 1, MPI_DATATYPE_NULL, &type));
    FAILS(MPI_ERR_COUNT, MPI_Type_indexed(-1, &one, &zero, MPI_INT, &type));
    FAILS(MPI_ERR_COUNT, MPI_Type_create_hindexed(-1, &one, &place, MPI_INT, &type));
    FAILS(MPI_ERR_COUNT, MPI_Type_create_struct(-1, &one, &place, &ints, &type));
    parts[0] = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_TYPE, MPI_Type_create_struct(1, &one, &place, parts, &type));
    if (!IS_MPICH) /* It takes it. */
        FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &n));
    if (!IS_MPICH) /* It takes it. */
        FAILS(MPI_ERR_TYPE, MPI_Type_commit(&type));
    type = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&type));
    OK(MPI_Type_contiguous(2, MPI_INT, &made));
    FAILS(MPI_ERR_TYPE, MPI_Send(numbers, 1, made, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Bcast(numbers, 1, made, 0, MPI_COMM_WORLD));
    OK(MPI_Type_commit(&made));
    OK(MPI_Type_commit(&made));
    OK(MPI_Send(numbers, 1, made, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Send(numbers, -1, made, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(numbers, numbers + 2, 1, made, MPI_SUM));
    OK(MPI_Type_free(&made));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Many types, made and freed: no place is used up. */
static void many(void)
{
    enum { ROUNDS = 2000 };
    MPI_Datatype kept[16], type;
    int i, size = 0;

    for (i = 0; i < 16; i++)
        kept[i] = MPI_DATATYPE_NULL;
    for (i = 0; i < ROUNDS; i++) {
        MPI_Datatype *place = &kept[i * 7 % 16];

        POLL(MPI_Type_vector(1 + i % 5, 1, 2, MPI_INT, &type));
        if (*place != MPI_DATATYPE_NULL)
            POLL(MPI_Type_free(place));
        POLL(MPI_Type_contiguous(2, type, place));
        POLL(MPI_Type_free(&type));
        POLL(MPI_Type_size(*place, &size));
        if (size != 8 * (1 + i % 5))
            CHECK(size == 8 * (1 + i % 5));
    }
    for (i = 0; i < 16; i++)
        if (kept[i] != MPI_DATATYPE_NULL)
            OK(MPI_Type_free(&kept[i]));
}

/* The names that MPI-3.0 has removed; the reference implementation does not have them any more. */
static void removed_names(void)
{
#ifdef MIDPLANE_MPI
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    int lengths[] = {1, 2, 1};
    MPI_Aint places[] = {-8, 4, 40}, at = 0, same = 1, extent = 0;
    MPI_Datatype parts[] = {MPI_LB, MPI_INT, MPI_UB}, type, two;

    OK(MPI_Type_struct(3, lengths, places, parts, &type));
    bounds(type, -8, 48, 4, 8, 8);
    OK(MPI_Type_lb(type, &at));
    CHECK(at == -8);
    OK(MPI_Type_ub(type, &at));
    CHECK(at == 40);
    OK(MPI_Type_extent(type, &extent));
    CHECK(extent == 48);
    /* The bounds of its parts are those of the whole. */
    OK(MPI_Type_contiguous(2, type, &two));
    bounds(two, -8, 96, 4, 56, 16);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&two));
    OK(MPI_Type_hvector(2, 1, 12, MPI_INT, &type));
    bounds(type, 0, 16, 0, 16, 8);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type));
    bounds(type, -8, 20, -8, 20, 12);
    OK(MPI_Type_free(&type));
    OK(MPI_Address(places, &at));
    OK(MPI_Get_address(places, &same));
    CHECK(at == same);
#pragma GCC diagnostic pop
#endif
}

int main(int argc, char **argv)
{
    check_unused();
    check_start(&argc, &argv);
    removed_names();
    regular();
    irregular();
    structs();
    resized();
    arrays();
    copies_and_names();
    other_languages();
    addresses();
    sizes_by_class();
    pairs();
    wrong_arguments();
    many();
    return check_end("conf_types");
}
