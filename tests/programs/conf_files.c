/* Conformance: files (chapter 13).
 *
 *     conf_files [DIRECTORY]      where the files are created (default .)
 */
#include "check.h"

#define BYTES 4096

static char path[1024], other[1024];
static const char *directory = ".";

/* A byte of a pattern that differs at each position. */
static unsigned char pattern(int at)
{
    return (unsigned char)(at * 7 + at / 251 + 3);
}

static void fill(unsigned char *bytes, int from, int count)
{
    int i;

    for (i = 0; i < count; i++)
        bytes[i] = pattern(from + i);
}

static int is_pattern(const unsigned char *bytes, int from, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (bytes[i] != pattern(from + i))
            return 0;
    return 1;
}

static int bytes_in(const MPI_Status *status)
{
    int count;

    OK(MPI_Get_count(status, MPI_BYTE, &count));
    return count;
}

static MPI_Offset size_of(MPI_File file)
{
    MPI_Offset size;

    OK(MPI_File_get_size(file, &size));
    return size;
}

static MPI_File opened(int mode)
{
    MPI_File file;

    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    return file;
}

static void opening(void)
{
    int mode, result, flag;
    MPI_File file;
    MPI_Group group, world;
    MPI_Info info;

    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    if (check_size > 1)
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, path, check_rank ? MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(path, MPI_INFO_NULL));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_get_amode(file, &mode));
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    OK(MPI_File_get_group(file, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_File_get_info(file, &info));
    OK(MPI_File_set_info(file, info));
    OK(MPI_Info_free(&info));
    OK(MPI_File_get_atomicity(file, &flag));
    CHECK(!flag);
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    FAILS(MPI_ERR_FILE_EXISTS, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    file = MPI_FILE_NULL;
    FAILS(MPI_ERR_FILE, MPI_File_close(&file));
    FAILS(MPI_ERR_FILE, MPI_File_sync(MPI_FILE_NULL));
}

static void sizes(void)
{
    unsigned char bytes[8];
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_File_set_size(file, 5000));
    CHECK(size_of(file) == 5000);
    OK(MPI_File_preallocate(file, 3000));
    CHECK(size_of(file) == 5000);
    OK(MPI_File_preallocate(file, 70001));
    CHECK(size_of(file) == 70001);
    memset(bytes, 1, sizeof(bytes));
    OK(MPI_File_read_at(file, 69997, bytes, 8, MPI_BYTE, &status));
    CHECK(bytes_in(&status) == 4 && bytes[3] == 0 && bytes[4] == 1);
    OK(MPI_File_set_size(file, 0));
    CHECK(size_of(file) == 0);
    FAILS(MPI_ERR_ARG, MPI_File_set_size(file, -1));
    if (check_size > 1)
        FAILS(MPI_ERR_NOT_SAME, MPI_File_set_size(file, check_rank));
    OK(MPI_File_close(&file));
    file = opened(MPI_MODE_RDONLY);
    FAILS(MPI_ERR_READ_ONLY, MPI_File_set_size(file, 9));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write(file, bytes, 1, MPI_BYTE, &status));
    OK(MPI_File_close(&file));
    file = opened(MPI_MODE_WRONLY);
    FAILS(MPI_ERR_ACCESS, MPI_File_read(file, bytes, 1, MPI_BYTE, &status));
    OK(MPI_File_close(&file));
}

static void offsets(void)
{
    static unsigned char bytes[BYTES];
    int n = check_size, count = 300;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Offset position;
    MPI_File file = opened(MPI_MODE_RDWR);

    fill(bytes, check_rank * count, count);
    OK(MPI_File_write_at_all(file, check_rank * count, bytes, count, MPI_BYTE, &status));
    CHECK(bytes_in(&status) == count);
    OK(MPI_File_sync(file));
    CHECK(size_of(file) == n * count);
    memset(bytes, 0, sizeof(bytes));
    OK(MPI_File_read_at(file, (n - 1 - check_rank) * count, bytes, count, MPI_BYTE, &status));
    CHECK(bytes_in(&status) == count && is_pattern(bytes, (n - 1 - check_rank) * count, count));
    /* Past the end. */
    OK(MPI_File_read_at(file, n * count - 10, bytes, count, MPI_BYTE, &status));
    CHECK(bytes_in(&status) == 10 && is_pattern(bytes, n * count - 10, 10));
    OK(MPI_File_read_at(file, n * count + 10, bytes, count, MPI_BYTE, &status));
    CHECK(bytes_in(&status) == 0);
    FAILS(MPI_ERR_ARG, MPI_File_read_at(file, -1, bytes, 1, MPI_BYTE, &status));
    /* Nonblocking calls. */
    memset(bytes, 0, sizeof(bytes));
    OK(MPI_File_iread_at(file, 0, bytes, 100, MPI_BYTE, &requests[0]));
    OK(MPI_File_iread_at_all(file, 100, bytes + 100, 100, MPI_BYTE, &requests[1]));
    OK(MPI_Wait(&requests[0], &status));
    CHECK(bytes_in(&status) == 100 && requests[0] == MPI_REQUEST_NULL);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(is_pattern(bytes, 0, 200));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fill(bytes, check_rank * count, count);
    OK(MPI_File_iwrite_at(file, check_rank * count, bytes, 100, MPI_BYTE, &requests[0]));
    OK(MPI_File_iwrite_at_all(file, check_rank * count + 100, bytes + 100, 200, MPI_BYTE, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    /* The individual pointer. */
    OK(MPI_File_seek(file, check_rank * count, MPI_SEEK_SET));
    OK(MPI_File_read(file, bytes, 30, MPI_BYTE, &status));
    CHECK(is_pattern(bytes, check_rank * count, 30));
    OK(MPI_File_iread(file, bytes, 30, MPI_BYTE, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    CHECK(is_pattern(bytes, check_rank * count + 30, 30));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == check_rank * count + 60);
    OK(MPI_File_seek(file, -20, MPI_SEEK_CUR));
    OK(MPI_File_read_all(file, bytes, 20, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(is_pattern(bytes, check_rank * count + 40, 20));
    OK(MPI_File_seek(file, -5, MPI_SEEK_END));
    OK(MPI_File_iread_all(file, bytes, 20, MPI_BYTE, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    CHECK(bytes_in(&status) == 5 && is_pattern(bytes, n * count - 5, 5));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, 0, 77));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek(file, check_rank * count, MPI_SEEK_SET));
    fill(bytes, check_rank * count, count);
    OK(MPI_File_write(file, bytes, 100, MPI_BYTE, &status));
    OK(MPI_File_write_all(file, bytes + 100, 100, MPI_BYTE, &status));
    OK(MPI_File_iwrite(file, bytes + 200, 50, MPI_BYTE, &requests[0]));
    OK(MPI_File_iwrite_all(file, bytes + 250, 50, MPI_BYTE, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_close(&file));
}

static void split(void)
{
    static unsigned char bytes[BYTES];
    int count = 64;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    fill(bytes, check_rank * count, count);
    OK(MPI_File_write_at_all_begin(file, check_rank * count, bytes, count, MPI_BYTE));
    CHECK(MPI_File_read_all_begin(file, bytes, 1, MPI_BYTE) != MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(file, bytes, &status) != MPI_SUCCESS);
    OK(MPI_File_write_at_all_end(file, bytes, &status));
    CHECK(bytes_in(&status) == count);
    OK(MPI_File_sync(file));
    memset(bytes, 0, sizeof(bytes));
    OK(MPI_File_read_at_all_begin(file, 0, bytes, count, MPI_BYTE));
    OK(MPI_File_read_at_all_end(file, bytes, &status));
    CHECK(is_pattern(bytes, 0, count));
    OK(MPI_File_read_all_begin(file, bytes, 10, MPI_BYTE));
    OK(MPI_File_read_all_end(file, bytes, &status));
    OK(MPI_File_read_all_begin(file, bytes, 10, MPI_BYTE));
    OK(MPI_File_read_all_end(file, bytes, &status));
    CHECK(bytes_in(&status) == 10 && is_pattern(bytes, 10, 10));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek(file, check_rank * count, MPI_SEEK_SET));
    fill(bytes, check_rank * count, count);
    OK(MPI_File_write_all_begin(file, bytes, count, MPI_BYTE));
    OK(MPI_File_write_all_end(file, bytes, &status));
    OK(MPI_File_close(&file));
}

/* Each rank has every n-th row of two integers. */
static void views(void)
{
    int n = check_size, rows = 40, i, integers, data[80], got[80];
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Aint lower, extent;
    MPI_Datatype row, mine, etype, filetype;
    MPI_Offset disp, offset;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_File_set_size(file, 0));
    OK(MPI_Type_contiguous(2, MPI_INT, &row));
    OK(MPI_Type_commit(&row));
    OK(MPI_Type_create_resized(row, 0, n * 2 * (MPI_Aint)sizeof(int), &mine));
    CHECK(MPI_File_set_view(file, 0, MPI_INT, mine, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    OK(MPI_Type_commit(&mine));
    disp = 100 + check_rank * 2 * (int)sizeof(int);
    OK(MPI_File_set_view(file, disp, MPI_INT, mine, "native", MPI_INFO_NULL));
    for (i = 0; i < 2 * rows; i++)
        data[i] = 1000 * check_rank + i;
    OK(MPI_File_write_all(file, data, 2 * rows, MPI_INT, &status));
    OK(MPI_Get_count(&status, MPI_INT, &integers));
    CHECK(integers == 2 * rows);
    OK(MPI_File_sync(file));
    CHECK(size_of(file) == 100 + n * 2 * rows * (int)sizeof(int));
    OK(MPI_File_get_position(file, &offset));
    CHECK(offset == 2 * rows);
    OK(MPI_File_get_byte_offset(file, 3, &offset));
    CHECK(offset == disp + n * 2 * (int)sizeof(int) + (int)sizeof(int));
    OK(MPI_File_read_at(file, 5, got, 20, MPI_INT, &status));
    for (i = 0; i < 20; i++)
        CHECK(got[i] == data[5 + i]);
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &offset));
    CHECK(offset == 2 * rows);
    OK(MPI_File_get_view(file, &offset, &etype, &filetype, name));
    CHECK(offset == disp && etype == MPI_INT && strcmp(name, "native") == 0);
    OK(MPI_Type_get_extent(filetype, &lower, &extent));
    CHECK(extent == n * 2 * (MPI_Aint)sizeof(int));
    OK(MPI_Type_free(&filetype));
    OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    /* The whole file, without a view. */
    OK(MPI_File_set_view(file, 100, MPI_BYTE, MPI_BYTE, "internal", MPI_INFO_NULL));
    OK(MPI_File_read_at(file, 2 * (int)sizeof(int), got, 8, MPI_BYTE, &status));
    CHECK(got[0] == (n > 1 ? 1000 : 2) && got[1] == got[0] + 1);
    /* Data with holes in memory. */
    OK(MPI_File_set_view(file, 0, row, row, "native", MPI_INFO_NULL));
    CHECK(MPI_File_read_at(file, 0, got, 1, MPI_INT, &status) != MPI_SUCCESS);
    OK(MPI_Type_free(&mine));
    OK(MPI_Type_vector(4, 1, 2, MPI_INT, &mine));
    OK(MPI_Type_commit(&mine));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < 80; i++)
        data[i] = 10 * i + check_rank;
    OK(MPI_File_write_at(file, 2 * check_rank, data, 1, mine, &status));
    memset(got, 0, sizeof(got));
    OK(MPI_File_read_at(file, 2 * check_rank, got, 1, mine, &status));
    for (i = 0; i < 8; i++)
        CHECK(got[i] == (i % 2 ? 0 : data[i]));
    /* Invalid views. */
    CHECK(MPI_File_set_view(file, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    FAILS(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "strange", MPI_INFO_NULL));
    OK(MPI_Type_free(&mine));
    OK(MPI_Type_free(&row));
    OK(MPI_File_close(&file));
}

static void representations(void)
{
    int n = check_size, numbers[4], got[4], i;
    unsigned char bytes[16];
    double value = 1.5;
    MPI_Aint extent;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    CHECK(extent == 4);
    for (i = 0; i < 4; i++)
        numbers[i] = 0x01020304 + check_rank + 256 * i;
    OK(MPI_File_write_at_all(file, 4 * check_rank, numbers, 4, MPI_INT, &status));
    CHECK(bytes_in(&status) == (int)sizeof(numbers));
    OK(MPI_File_sync(file));
    OK(MPI_File_read_at(file, 4 * check_rank, got, 4, MPI_INT, &status));
    CHECK(memcmp(numbers, got, sizeof(got)) == 0);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(file, 16 * (n - 1), bytes, 16, MPI_BYTE, &status));
    CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + n - 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, check_rank, &value, 1, MPI_DOUBLE, &status));
    value = 0;
    OK(MPI_File_read_at(file, check_rank, &value, 1, MPI_DOUBLE, &status));
    CHECK(value == 1.5);
    OK(MPI_File_close(&file));
}

/* A representation that writes each integer as three bytes. */
static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    (void)datatype;
    *extent = 3;
    return extra == path ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int to_file(void *memory, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    int i, *numbers = memory;
    unsigned char *out = file;

    (void)datatype;
    for (i = 0; i < count; i++) {
        out[3 * i] = numbers[position + i] & 255;
        out[3 * i + 1] = numbers[position + i] >> 8 & 255;
        out[3 * i + 2] = numbers[position + i] >> 16 & 255;
    }
    return extra == path ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int from_file(void *memory, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    int i, *numbers = memory;
    unsigned char *in = file;

    (void)datatype;
    for (i = 0; i < count; i++)
        numbers[position + i] = in[3 * i] | in[3 * i + 1] << 8 | in[3 * i + 2] << 16;
    return extra == path ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int large_to_file(void *memory, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position,
                         void *extra)
{
    return to_file(memory, datatype, (int)count, file, position, extra);
}

static int large_from_file(void *memory, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position,
                           void *extra)
{
    return from_file(memory, datatype, (int)count, file, position, extra);
}

static void registered(void)
{
    int numbers[1000], got[1000], i;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_Register_datarep("three", from_file, to_file, extent_of, path));
    OK(MPI_Register_datarep_c("large", large_from_file, large_to_file, extent_of, path));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("three", from_file, to_file, extent_of, path));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", from_file, to_file, extent_of, path));
    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "three", MPI_INFO_NULL));
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, name));
    CHECK(strcmp(name, "three") == 0);
    for (i = 0; i < 1000; i++)
        numbers[i] = 1000 * check_rank + i;
    OK(MPI_File_write_at_all(file, 1000 * check_rank, numbers, 1000, MPI_INT, &status));
    CHECK(bytes_in(&status) == (int)sizeof(numbers));
    OK(MPI_File_sync(file));
    CHECK(size_of(file) == 3000 * check_size);
    OK(MPI_File_read_at(file, 1000 * check_rank, got, 1000, MPI_INT, &status));
    CHECK(memcmp(numbers, got, sizeof(got)) == 0);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "large", MPI_INFO_NULL));
    memset(got, 0, sizeof(got));
    OK(MPI_File_read_at(file, 1000 * check_rank, got, 1000, MPI_INT, &status));
    CHECK(memcmp(numbers, got, sizeof(got)) == 0);
    OK(MPI_File_write_at(file, 1000 * check_rank, got + 7, 3, MPI_INT, &status));
    OK(MPI_File_close(&file));
}

static void shared(void)
{
    int n = check_size, value, values[3], seen[64], i, j, all;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    MPI_Offset position;
    MPI_Request request;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    value = check_rank;
    OK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    OK(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_File_sync(file));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 2 * n);
    /* Each value is there twice. */
    memset(seen, 0, sizeof(seen));
    for (i = 0; i < 2 * n; i++) {
        OK(MPI_File_read_at(file, i, &value, 1, MPI_INT, &status));
        CHECK(value >= 0 && value < n && ++seen[value] <= 2);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_shared(file, &value, 1, MPI_INT, &status));
    OK(MPI_File_iread_shared(file, &values[0], 1, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    value += values[0];
    OK(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == n * (n - 1));
    /* In the order of the ranks, with counts that differ. */
    OK(MPI_File_seek_shared(file, -2 * n, MPI_SEEK_CUR));
    for (i = 0; i < 3; i++)
        values[i] = 10 * check_rank + i;
    OK(MPI_File_write_ordered(file, values, 1 + check_rank % 3, MPI_INT, &status));
    OK(MPI_File_write_ordered_begin(file, values, 1, MPI_INT));
    OK(MPI_File_write_ordered_end(file, values, &status));
    OK(MPI_File_sync(file));
    for (i = 0, all = 0; i < n; i++)
        for (j = 0; j < 1 + i % 3; j++, all++) {
            OK(MPI_File_read_at(file, all, &value, 1, MPI_INT, &status));
            CHECK(value == 10 * i + j);
        }
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == all + n);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, all, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, &value, 1, MPI_INT, &status));
    CHECK(value == 10 * check_rank);
    OK(MPI_File_seek_shared(file, -n, MPI_SEEK_END));
    OK(MPI_File_read_ordered_begin(file, &value, 1, MPI_INT));
    OK(MPI_File_read_ordered_end(file, &value, &status));
    CHECK(value == 10 * check_rank);
    OK(MPI_File_close(&file));
    file = opened(MPI_MODE_WRONLY | MPI_MODE_APPEND);
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == (all + n) * (int)sizeof(int));
    OK(MPI_File_close(&file));
    file = opened(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
    OK(MPI_File_read_ordered(file, &value, 4, MPI_BYTE, &status));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(file, 0, MPI_SEEK_SET));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_read(file, &value, 4, MPI_BYTE, &status));
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_view(file, &position, &etype, &filetype, name));
    CHECK(position == n * 4);
    OK(MPI_File_close(&file));
}

/* Overlapping writes in atomic mode: the bytes of one process only. */
static void atomic(void)
{
    unsigned char bytes[600];
    int flag, i, round;
    MPI_Datatype every;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    OK(MPI_Type_vector(100, 1, 2, MPI_BYTE, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, every, "native", MPI_INFO_NULL));
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &flag));
    CHECK(flag);
    for (round = 0; round < 3; round++) {
        memset(bytes, 'a' + check_rank + round, sizeof(bytes));
        OK(MPI_File_write_at(file, 0, bytes, 100, MPI_BYTE, &status));
        OK(MPI_File_read_at(file, 0, bytes, 100, MPI_BYTE, &status));
        for (i = 1; i < 100; i++)
            CHECK(bytes[i] == bytes[0]);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_File_set_atomicity(file, 0));
    OK(MPI_Type_free(&every));
    OK(MPI_File_close(&file));
}

static int calls;

static void handler(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
    calls++;
}

static void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_File file, none;

    /* Those of MPI_FILE_NULL are the default. */
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &none));
    CHECK(calls == 1);
    FAILS(MPI_ERR_FILE, MPI_File_set_errhandler((MPI_File)7, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_FILE, MPI_File_get_errhandler((MPI_File)7, &got));
    FAILS(MPI_ERR_ARG, MPI_File_get_errhandler(MPI_FILE_NULL, NULL));
    CHECK(calls == 4);
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK(calls == 5);
    file = opened(MPI_MODE_RDONLY);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_File_get_errhandler(file, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS && calls == 6);
    OK(MPI_File_close(&file));
    calls = 0;
    file = opened(MPI_MODE_RDONLY);

    OK(MPI_File_get_errhandler(file, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(file, mine));
    OK(MPI_File_get_errhandler(file, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS && calls == 1);
    OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
    CHECK(calls == 2);
    OK(MPI_File_close(&file));
}

/* A file of each process alone, deleted at its end. */
static void alone(void)
{
    int value = check_rank, got = -1;
    MPI_Status status;
    MPI_File file, again;

    snprintf(other, sizeof(other), "%s/conf_files.%d", directory, check_rank);
    OK(MPI_File_open(MPI_COMM_SELF, other, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &file));
    OK(MPI_File_write(file, &value, 1, MPI_INT, &status));
    OK(MPI_File_open(MPI_COMM_SELF, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &again));
    OK(MPI_File_read(again, &got, 1, MPI_INT, &status));
    CHECK(got == value);
    OK(MPI_File_close(&again));
    OK(MPI_File_close(&file));
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_SELF, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
}

/* More bytes than a transfer's buffer. */
static void long_data(void)
{
    int count = 50000, i, bad = 0;
    int *data = malloc(count * sizeof(int)), *got = malloc(count * sizeof(int));
    MPI_Count large;
    MPI_Status status;
    MPI_File file = opened(MPI_MODE_RDWR);

    if (data == NULL || got == NULL)
        count = 0;
    for (i = 0; i < count; i++)
        data[i] = i ^ check_rank << 20;
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all_c(file, (MPI_Offset)check_rank * count * 4, data, count, MPI_INT, &status));
    OK(MPI_Get_elements_x(&status, MPI_INT, &large));
    CHECK(large == count);
    OK(MPI_File_read_at_c(file, (MPI_Offset)check_rank * count * 4, got, count, MPI_INT, &status));
    for (i = 0; i < count; i++)
        bad += got[i] != data[i];
    CHECK(bad == 0);
    OK(MPI_File_close(&file));
    free(data);
    free(got);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    if (argc > 1)
        directory = argv[1];
    snprintf(path, sizeof(path), "%s/conf_files", directory);
    opening();
    sizes();
    offsets();
    split();
    views();
    representations();
    registered();
    shared();
    atomic();
    handlers();
    alone();
    long_data();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        OK(MPI_File_delete(path, MPI_INFO_NULL));
    return check_end("conf_files");
}
