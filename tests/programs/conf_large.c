/* Conformance: the large-count forms of functions, with counts of type MPI_Count (MPI-4.0 section 2.5.8). Each is called
 * with small counts, and matches the other form. */
#include "check.h"

#define MOST 64

static MPI_Count ones[MOST], twos[MOST];
static MPI_Aint by_two[MOST], by_eight[MOST];
static int values[4 * MOST], results[4 * MOST];

static void messages(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    MPI_Count count = -1;
    int small = -1;

    values[0] = check_rank;
    values[1] = check_rank + 100;
    OK(MPI_Isend_c(values, (MPI_Count)2, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv(results, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(results[0] == left && results[1] == left + 100);
    OK(MPI_Get_count_c(&status, MPI_INT, &count));
    OK(MPI_Get_count(&status, MPI_INT, &small));
    CHECK(count == 2 && small == 2);
    OK(MPI_Get_count_c(&status, MPI_DOUBLE_INT, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_elements_c(&status, MPI_INT, &count));
    CHECK(count == 2);

    OK(MPI_Irecv_c(results, (MPI_Count)MOST, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Issend_c(values, (MPI_Count)1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Sendrecv_c(values, (MPI_Count)1, MPI_INT, right, 3, results, (MPI_Count)4, MPI_INT, left, 3, MPI_COMM_WORLD,
                      &status));
    CHECK(results[0] == left);
    results[0] = check_rank;
    OK(MPI_Sendrecv_replace_c(results, (MPI_Count)1, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(results[0] == left);

    OK(MPI_Send_init_c(values, (MPI_Count)1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init_c(results, (MPI_Count)1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));

    OK(MPI_Isend(values, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Mprobe(left, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv_c(results, (MPI_Count)1, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(results[0] == left);
}

static void buffered(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Count size = (MPI_Count)sizeof(int) + MPI_BSEND_OVERHEAD;
    void *memory = check_room((size_t)size), *old = NULL;

    OK(MPI_Buffer_attach_c(memory, size));
    OK(MPI_Bsend_c(values, (MPI_Count)1, MPI_INT, right, 7, MPI_COMM_WORLD));
    OK(MPI_Recv_c(results, (MPI_Count)1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(results[0] == left);
    size = 0;
    OK(MPI_Buffer_detach_c(&old, &size));
    CHECK(old == memory && size == (MPI_Count)sizeof(int) + MPI_BSEND_OVERHEAD);
    free(memory);
}

/* Rank r contributes r + 1. */
static void collectives(void)
{
    int n = check_size, all = n * (n + 1) / 2, i;
    MPI_Request request;
    MPI_Datatype types[MOST];

    values[0] = check_rank + 1;
    OK(MPI_Allgather_c(values, (MPI_Count)1, MPI_INT, results, (MPI_Count)1, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < n; i++)
        CHECK(results[i] == i + 1);
    memset(results, 0, sizeof(results));
    OK(MPI_Gatherv_c(values, (MPI_Count)1, MPI_INT, results, ones, by_two, MPI_INT, n - 1, MPI_COMM_WORLD));
    for (i = 0; i < n; i++)
        CHECK(results[2 * i] == (check_rank == n - 1 ? i + 1 : 0) && results[2 * i + 1] == 0);
    memset(results, 0, sizeof(results));
    OK(MPI_Iallgatherv_c(values, (MPI_Count)1, MPI_INT, results, ones, by_two, MPI_INT, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (i = 0; i < n; i++)
        CHECK(results[2 * i] == i + 1 && results[2 * i + 1] == 0);

    for (i = 0; i < 2 * n; i++)
        values[i] = 1000 * check_rank + i;
    OK(MPI_Alltoallv_c(values, twos, by_two, MPI_INT, results, twos, by_two, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < n; i++)
        CHECK(results[2 * i] == 1000 * i + 2 * check_rank && results[2 * i + 1] == results[2 * i] + 1);
    memset(results, 0, sizeof(results));
    for (i = 0; i < n; i++)
        types[i] = MPI_INT;
    OK(MPI_Alltoallw_c(values, twos, by_eight, types, results, twos, by_eight, types, MPI_COMM_WORLD));
    for (i = 0; i < n; i++)
        CHECK(results[2 * i] == 1000 * i + 2 * check_rank && results[2 * i + 1] == results[2 * i] + 1);
    memset(results, 0, sizeof(results));
    OK(MPI_Scatterv_c(values, twos, by_two, MPI_INT, results, (MPI_Count)2, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(results[0] == 2 * check_rank && results[1] == 2 * check_rank + 1);

    for (i = 0; i < n; i++)
        values[i] = check_rank + 1;
    OK(MPI_Allreduce_c(values, results, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(results[0] == all);
    OK(MPI_Reduce_scatter_c(values, results, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(results[0] == all);
    OK(MPI_Ireduce_scatter_c(values, results + 1, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(results[1] == all);
    OK(MPI_Scan_c(values, results, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(results[0] == (check_rank + 1) * (check_rank + 2) / 2);
    results[0] = check_rank == 0 ? 77 : 0;
    OK(MPI_Bcast_c(results, (MPI_Count)1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(results[0] == 77);
}

static void first_of_both(void *from, void *to, MPI_Count *length, MPI_Datatype *type)
{
    MPI_Count i;

    CHECK(*length >= 1 && *length <= 3 && *type == MPI_INT);
    for (i = 0; i < *length; i++)
        ((int *)to)[i] = ((int *)from)[i];
}

/* An operation whose function has a large count, and that does not commute. */
static void operations(void)
{
    MPI_Op op;
    int i;

    OK(MPI_Op_create_c(first_of_both, 0, &op));
    for (i = 0; i < 3; i++)
        values[i] = 10 * check_rank + i + 1;
    OK(MPI_Reduce_c(values, results, (MPI_Count)3, MPI_INT, op, 0, MPI_COMM_WORLD));
    for (i = 0; i < 3; i++)
        CHECK(check_rank != 0 || results[i] == i + 1);
    values[0] = 9;
    results[0] = 4;
    OK(MPI_Reduce_local_c(values, results, (MPI_Count)1, MPI_INT, op));
    CHECK(results[0] == 9);
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
}

/* The arguments of a large-count constructor are large counts. */
static void contents(MPI_Datatype type, int combiner, const MPI_Count *counts, int count, int integers)
{
    MPI_Count numbers[4] = {-1, -1, -1, -1}, found[8] = {0};
    MPI_Datatype old[1];
    MPI_Aint addresses[1];
    int given[4], found_combiner, small[3], i;

    OK(MPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3], &found_combiner));
    CHECK(numbers[0] == integers && numbers[1] == 0 && numbers[2] == count && numbers[3] == 1);
    CHECK(found_combiner == combiner);
    OK(MPI_Type_get_contents_c(type, (MPI_Count)4, (MPI_Count)1, (MPI_Count)8, (MPI_Count)1, given, addresses, found,
                               old));
    for (i = 0; i < count; i++)
        CHECK(found[i] == counts[i]);
    CHECK(old[0] == MPI_INT);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!IS_MPICH)
        FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(type, &small[0], &small[1], &small[2], &found_combiner));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Type_free(&type));
}

static void datatypes(void)
{
    MPI_Count lengths[2] = {1, 2}, places[2] = {0, 3}, bytes[2] = {0, 12}, sizes[2] = {4, 6}, parts[2] = {2, 3};
    MPI_Count starts[2] = {1, 2}, size, low, extent, numbers[4];
    MPI_Datatype type, small[1], old[2] = {MPI_INT, MPI_INT};
    MPI_Aint address[2];
    int combiner, integers[4];

    OK(MPI_Type_contiguous_c((MPI_Count)3, MPI_INT, &type));
    OK(MPI_Type_size_c(type, &size));
    CHECK(size == 12);
    contents(type, MPI_COMBINER_CONTIGUOUS, (MPI_Count[]){3}, 1, 0);
    OK(MPI_Type_vector_c((MPI_Count)2, (MPI_Count)1, (MPI_Count)3, MPI_INT, &type));
    OK(MPI_Type_get_extent_c(type, &low, &extent));
    CHECK(low == 0 && extent == 16);
    contents(type, MPI_COMBINER_VECTOR, (MPI_Count[]){2, 1, 3}, 3, 0);
    OK(MPI_Type_create_hvector_c((MPI_Count)2, (MPI_Count)1, (MPI_Count)8, MPI_INT, &type));
    contents(type, MPI_COMBINER_HVECTOR, (MPI_Count[]){2, 1, 8}, 3, 0);
    OK(MPI_Type_indexed_c((MPI_Count)2, lengths, places, MPI_INT, &type));
    OK(MPI_Type_get_true_extent_c(type, &low, &extent));
    CHECK(low == 0 && extent == 20);
    contents(type, MPI_COMBINER_INDEXED, (MPI_Count[]){2, 1, 2, 0, 3}, 5, 0);
    OK(MPI_Type_create_hindexed_c((MPI_Count)2, lengths, bytes, MPI_INT, &type));
    contents(type, MPI_COMBINER_HINDEXED, (MPI_Count[]){2, 1, 2, 0, 12}, 5, 0);
    OK(MPI_Type_create_indexed_block_c((MPI_Count)2, (MPI_Count)1, places, MPI_INT, &type));
    contents(type, MPI_COMBINER_INDEXED_BLOCK, (MPI_Count[]){2, 1, 0, 3}, 4, 0);
    OK(MPI_Type_create_hindexed_block_c((MPI_Count)2, (MPI_Count)1, bytes, MPI_INT, &type));
    contents(type, MPI_COMBINER_HINDEXED_BLOCK, (MPI_Count[]){2, 1, 0, 12}, 4, 0);
    OK(MPI_Type_create_resized_c(MPI_INT, (MPI_Count)-4, (MPI_Count)12, &type));
    contents(type, MPI_COMBINER_RESIZED, (MPI_Count[]){-4, 12}, 2, 0);
    OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    contents(type, MPI_COMBINER_SUBARRAY, (MPI_Count[]){4, 6, 2, 3, 1, 2}, 6, 2);
    OK(MPI_Type_create_struct_c((MPI_Count)2, lengths, bytes, old, &type));
    OK(MPI_Type_size_c(type, &size));
    CHECK(size == 12);
    OK(MPI_Type_free(&type));

    /* A constructor with int has none. */
    OK(MPI_Type_create_hvector(2, 1, 8, MPI_INT, &type));
    OK(MPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3], &combiner));
    CHECK(numbers[0] == 2 && numbers[1] == 1 && numbers[2] == 0 && numbers[3] == 1);
    OK(MPI_Type_get_contents_c(type, (MPI_Count)4, (MPI_Count)2, (MPI_Count)0, (MPI_Count)1, integers, address, NULL,
                               small));
    CHECK(integers[0] == 2 && integers[1] == 1 && address[0] == 8);
    OK(MPI_Type_free(&type));
}

/* More elements than an int counts, of no size or not accessed. */
static void beyond_an_int(void)
{
    MPI_Count many = (MPI_Count)1 << 33, size, found = 0;
    MPI_Datatype type;
    MPI_Status status;
    int small;

    if (sizeof(MPI_Aint) < 8)
        return;
    OK(MPI_Type_contiguous_c(many, MPI_INT, &type));
    OK(MPI_Type_size_c(type, &size));
    OK(MPI_Type_size(type, &small));
    CHECK(size == 4 * many && small == MPI_UNDEFINED);
    OK(MPI_Type_free(&type));
    OK(MPI_Pack_size_c(many, MPI_INT, MPI_COMM_WORLD, &size));
    CHECK(size >= 4 * many);
    OK(MPI_Type_contiguous(0, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv_c(NULL, many, type, check_rank, 8, NULL, many, type, check_rank, 8, MPI_COMM_WORLD, &status));
    OK(MPI_Type_free(&type));
    OK(MPI_Status_set_elements_c(&status, MPI_INT, many));
    OK(MPI_Get_elements_c(&status, MPI_INT, &found));
    OK(MPI_Get_elements(&status, MPI_INT, &small));
    CHECK(found == many && small == MPI_UNDEFINED);
}

static void packing(void)
{
    char packed[64];
    MPI_Count position = 0, size = 0;
    int given[3] = {5, 6, 7}, taken[3] = {0, 0, 0};

    OK(MPI_Pack_size_c((MPI_Count)3, MPI_INT, MPI_COMM_WORLD, &size));
    CHECK(size >= 12 && size <= 64);
    OK(MPI_Pack_c(given, (MPI_Count)3, MPI_INT, packed, (MPI_Count)64, &position, MPI_COMM_WORLD));
    size = position;
    position = 0;
    OK(MPI_Unpack_c(packed, size, &position, taken, (MPI_Count)3, MPI_INT, MPI_COMM_WORLD));
    CHECK(position == size && taken[0] == 5 && taken[2] == 7);
    OK(MPI_Pack_external_size_c("external32", (MPI_Count)3, MPI_INT, &size));
    CHECK(size == 12);
    position = 0;
    OK(MPI_Pack_external_c("external32", given, (MPI_Count)3, MPI_INT, packed, size, &position));
    CHECK(position == 12 && packed[3] == 5);
    position = 0;
    memset(taken, 0, sizeof(taken));
    OK(MPI_Unpack_external_c("external32", packed, size, &position, taken, (MPI_Count)3, MPI_INT));
    CHECK(taken[0] == 5 && taken[2] == 7);
}

static void windows(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static int memory[4];
    MPI_Win win;

    memory[0] = memory[1] = -1;
    values[0] = check_rank;
    OK(MPI_Win_create_c(memory, (MPI_Aint)sizeof(memory), (MPI_Aint)sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put_c(values, (MPI_Count)1, MPI_INT, right, 1, (MPI_Count)1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[1] == left && memory[0] == -1);
    /* The neighbour may add to the memory as soon as its fence returns. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Accumulate_c(values, (MPI_Count)1, MPI_INT, right, 1, (MPI_Count)1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[1] == 2 * left);
    OK(MPI_Get_c(results, (MPI_Count)1, MPI_INT, right, 1, (MPI_Count)1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(results[0] == 2 * check_rank);
    OK(MPI_Win_free(&win));
}

static void mistakes(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COUNT, MPI_Send_c(values, (MPI_Count)-1, MPI_INT, check_rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Isend_c(values, (MPI_Count)-1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_COUNT, MPI_Bcast_c(values, (MPI_Count)-1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!IS_MPICH)
        FAILS(MPI_ERR_COUNT, MPI_Type_contiguous_c((MPI_Count)-1, MPI_INT, &type));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int i;

    check_start(&argc, &argv);
    if (check_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (i = 0; i < MOST; i++) {
        ones[i] = 1;
        twos[i] = 2;
        by_two[i] = 2 * i;
        by_eight[i] = 8 * i;
    }
    messages();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    buffered();
    collectives();
    operations();
    datatypes();
    beyond_an_int();
    packing();
    windows();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    mistakes();
    return check_end("conf_large");
}
