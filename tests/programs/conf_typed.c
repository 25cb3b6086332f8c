/* Conformance: messages and collectives of derived datatypes (MPI-3.1, chapters 3 to 5).
 *
 * Columns, structs, parts of arrays and absolute addresses, in every mode and from short to long; what comes short
 * or long; types freed while they are in use. Any number of processes from 1.
 */
#include "check.h"

#include <stddef.h>

enum { ROWS = 60, COLUMNS = 40 };

static int matrix[ROWS][COLUMNS], other[ROWS][COLUMNS];
static int right_rank, left_rank;

static void fill(int seed)
{
    int i, j;

    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++) {
            matrix[i][j] = seed * 100000 + i * COLUMNS + j;
            other[i][j] = -1;
        }
}

static MPI_Datatype columns(int width)
{
    MPI_Datatype type;

    OK(MPI_Type_vector(ROWS, width, COLUMNS, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

/* Columns `from` on of the left rank's matrix are in columns `to` on, and nothing else. */
static void check_columns(int from, int to, int width)
{
    long wrong = 0;
    int i, j;

    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++) {
            int wanted = j >= to && j < to + width ? left_rank * 100000 + i * COLUMNS + j - to + from : -1;

            wrong += other[i][j] != wanted;
        }
    CHECK(wrong == 0);
}

static void send_in_mode(int mode, MPI_Datatype type, MPI_Request *request)
{
    switch (mode) {
    case 0:
        OK(MPI_Send(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD));
        break;
    case 1:
        OK(MPI_Isend(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD, request));
        break;
    case 2:
        OK(MPI_Issend(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD, request));
        break;
    case 3:
        OK(MPI_Bsend(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD));
        break;
    case 4:
        OK(MPI_Ibsend(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD, request));
        break;
    case 5:
        OK(MPI_Send_init(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD, request));
        OK(MPI_Start(request));
        break;
    default:
        OK(MPI_Ssend_init(&matrix[0][0], 1, type, right_rank, mode, MPI_COMM_WORLD, request));
        OK(MPI_Start(request));
        break;
    }
}

/* In every mode, of widths from one element to nearly all. */
static void in_all_modes(void)
{
    static const int widths[] = {1, 3, 39};
    static char room[2 * (ROWS * 43 * sizeof(int) + 3 * MPI_BSEND_OVERHEAD)];
    int mode, w;
    void *detached;
    int size;

    OK(MPI_Buffer_attach(room, sizeof room));
    for (mode = 0; mode < 7; mode++)
        for (w = 0; w < 3; w++) {
            int width = widths[w], count = -1, elements = -1;
            MPI_Datatype type = columns(width);
            MPI_Request request = MPI_REQUEST_NULL, incoming;
            MPI_Status status;

            fill(check_rank);
            OK(MPI_Irecv(&other[0][1], 1, type, left_rank, mode, MPI_COMM_WORLD, &incoming));
            send_in_mode(mode, type, &request);
            /* In use, it stays (section 4.1.9). */
            {
                MPI_Datatype kept = type;

                OK(MPI_Type_dup(kept, &type));
                OK(MPI_Type_free(&kept));
            }
            OK(MPI_Wait(&incoming, &status));
            OK(MPI_Get_count(&status, type, &count));
            OK(MPI_Get_elements(&status, MPI_INT, &elements));
            CHECK(count == 1 && elements == ROWS * width);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (mode >= 5)
                OK(MPI_Request_free(&request));
            OK(MPI_Type_free(&type));
            check_columns(0, 1, width);
        }
    OK(MPI_Buffer_detach(&detached, &size));
}

static void rows_to_columns(void)
{
    MPI_Datatype column = columns(1), tall;
    MPI_Status status;
    int i, j;
    long wrong = 0;

    OK(MPI_Type_create_resized(column, 0, sizeof(int), &tall));
    OK(MPI_Type_commit(&tall));
    OK(MPI_Type_free(&column));
    fill(check_rank);
    /* Three columns leave; as many elements come in a row. */
    OK(MPI_Sendrecv(&matrix[0][5], 3, tall, right_rank, 1, other, 3 * ROWS, MPI_INT, left_rank, 1, MPI_COMM_WORLD,
                    &status));
    for (i = 0; i < 3 * ROWS; i++)
        wrong += ((int *)other)[i] != left_rank * 100000 + i % ROWS * COLUMNS + 5 + i / ROWS;
    CHECK(wrong == 0);
    OK(MPI_Sendrecv_replace(&matrix[0][7], 1, tall, right_rank, 2, left_rank, 2, MPI_COMM_WORLD, &status));
    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++)
            wrong += matrix[i][j] != (j == 7 ? left_rank : check_rank) * 100000 + i * COLUMNS + j;
    CHECK(wrong == 0);
    OK(MPI_Type_free(&tall));
}

/* The inside of a box goes to the other end of a box, in three dimensions. */
static void parts_of_arrays(void)
{
    enum { N = 12 };
    static double box[N][N][N], got[N][N][N];
    int sizes[] = {N, N, N}, inside[] = {N - 2, 3, N - 2}, from[] = {1, 2, 1}, to[] = {2, 9, 0};
    MPI_Datatype out, in;
    MPI_Status status;
    int i, j, k;
    long wrong = 0;

    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            for (k = 0; k < N; k++) {
                box[i][j][k] = check_rank * 10000.0 + i * 400 + j * 20 + k;
                got[i][j][k] = -1;
            }
    OK(MPI_Type_create_subarray(3, sizes, inside, from, MPI_ORDER_C, MPI_DOUBLE, &out));
    OK(MPI_Type_create_subarray(3, sizes, inside, to, MPI_ORDER_C, MPI_DOUBLE, &in));
    OK(MPI_Type_commit(&out));
    OK(MPI_Type_commit(&in));
    OK(MPI_Sendrecv(box, 1, out, right_rank, 3, got, 1, in, left_rank, 3, MPI_COMM_WORLD, &status));
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            for (k = 0; k < N; k++) {
                int is_in = i >= 2 && j >= 9 && k < N - 2;
                double wanted = left_rank * 10000.0 + (i - 1) * 400 + (j - 7) * 20 + k + 1;

                wrong += got[i][j][k] != (is_in ? wanted : -1);
            }
    CHECK(wrong == 0);
    OK(MPI_Type_free(&out));
    OK(MPI_Type_free(&in));
}

struct particle {
    char kind;
    double place[3];
    int id;
    short marks[5];
};

static MPI_Datatype particles(void)
{
    int lengths[] = {1, 3, 1, 5};
    MPI_Aint places[] = {offsetof(struct particle, kind), offsetof(struct particle, place),
                         offsetof(struct particle, id), offsetof(struct particle, marks)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT}, plain, type;

    OK(MPI_Type_create_struct(4, lengths, places, parts, &plain));
    OK(MPI_Type_create_resized(plain, 0, sizeof(struct particle), &type));
    OK(MPI_Type_free(&plain));
    OK(MPI_Type_commit(&type));
    return type;
}

static void set_particle(struct particle *p, int rank, int number)
{
    int i;

    memset(p, 0x33, sizeof *p);
    p->kind = (char)(number % 100);
    for (i = 0; i < 3; i++)
        p->place[i] = rank + number * 0.25 + i;
    p->id = rank * 1000 + number;
    for (i = 0; i < 5; i++)
        p->marks[i] = (short)(number * 5 + i);
}

/* Whether it is this one, its gaps as they were. */
static int is_particle(const struct particle *p, int rank, int number)
{
    struct particle wanted;

    set_particle(&wanted, rank, number);
    return p->kind == wanted.kind && memcmp(p->place, wanted.place, sizeof wanted.place) == 0 &&
           p->id == wanted.id && memcmp(p->marks, wanted.marks, sizeof wanted.marks) == 0 &&
           ((const char *)p)[1] == 0x33;
}

/* More comes than is wanted, less, and a part of an element. */
static void short_and_long(void)
{
    enum { MANY = 40 };
    static struct particle out[MANY], in[MANY];
    MPI_Datatype type = particles();
    MPI_Request request;
    MPI_Status status;
    int i, count = -1, elements = -1, wrong = 0, code, class = -1;

    for (i = 0; i < MANY; i++) {
        set_particle(&out[i], check_rank, i);
        memset(&in[i], 0x33, sizeof in[i]);
    }
    OK(MPI_Irecv(in, MANY, type, left_rank, 4, MPI_COMM_WORLD, &request));
    OK(MPI_Send(out, MANY - 3, type, right_rank, 4, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, type, &count));
    OK(MPI_Get_elements(&status, type, &elements));
    CHECK(count == MANY - 3 && elements == 10 * (MANY - 3));
    for (i = 0; i < MANY - 3; i++)
        wrong += !is_particle(&in[i], left_rank, i);
    CHECK(wrong == 0);
    /* A char and two doubles of another element. */
    OK(MPI_Irecv(in, MANY, type, left_rank, 5, MPI_COMM_WORLD, &request));
    {
        int lengths[] = {1, 1, 2};
        MPI_Aint places[] = {0, (MPI_Aint)sizeof out[0], (MPI_Aint)sizeof out[0] + offsetof(struct particle, place)};
        MPI_Datatype parts[3], begun;

        parts[0] = type;
        parts[1] = MPI_CHAR;
        parts[2] = MPI_DOUBLE;
        OK(MPI_Type_create_struct(3, lengths, places, parts, &begun));
        OK(MPI_Type_commit(&begun));
        OK(MPI_Send(out, 1, begun, right_rank, 5, MPI_COMM_WORLD));
        OK(MPI_Type_free(&begun));
    }
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, type, &count));
    OK(MPI_Get_elements(&status, type, &elements));
    CHECK(count == MPI_UNDEFINED && elements == 13);
    OK(MPI_Status_set_elements(&status, MPI_INT, 21));
    OK(MPI_Get_elements(&status, MPI_INT, &elements));
    CHECK(elements == 21);
#ifdef MIDPLANE_MPI
    /* The reference implementation takes the number for whole elements of the type. */
    OK(MPI_Status_set_elements(&status, type, 21));
    OK(MPI_Get_elements(&status, type, &elements));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(elements == 21 && count == MPI_UNDEFINED);
    OK(MPI_Status_set_elements(&status, type, 30));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == 3);
#endif
    /* Cut off. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < MANY; i++)
        memset(&in[i], 0x33, sizeof in[i]);
    OK(MPI_Irecv(in, 2, type, left_rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Send(out, 5, type, right_rank, 6, MPI_COMM_WORLD));
    code = MPI_Wait(&request, &status);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    for (i = 0; i < (int)sizeof in[2]; i++)
        wrong += ((char *)&in[2])[i] != 0x33;
    CHECK(wrong == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    OK(MPI_Type_free(&type));
}

/* Two variables of their own, by address. */
static void at_the_bottom(void)
{
    static int numbers[3];
    static double value;
    int lengths[] = {3, 1}, i;
    MPI_Aint places[2];
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Status status;

    OK(MPI_Get_address(numbers, &places[0]));
    OK(MPI_Get_address(&value, &places[1]));
    OK(MPI_Type_create_struct(2, lengths, places, parts, &type));
    OK(MPI_Type_commit(&type));
    for (i = 0; i < 3; i++)
        numbers[i] = check_rank * 10 + i;
    value = check_rank + 0.5;
    OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, right_rank, 7, left_rank, 7, MPI_COMM_WORLD, &status));
    for (i = 0; i < 3; i++)
        CHECK(numbers[i] == left_rank * 10 + i);
    CHECK(value == left_rank + 0.5);
    OK(MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD));
    CHECK(value == (check_size - 1) % check_size + 0.5);
    OK(MPI_Type_free(&type));
}

static void pairs_have_no_gaps(void)
{
    struct {
        short value;
        int index;
    } out[3], in[3];
    int i, count = -1, elements = -1;
    MPI_Status status;

    memset(in, 0x44, sizeof in);
    for (i = 0; i < 3; i++) {
        out[i].value = (short)(check_rank + i);
        out[i].index = check_rank * 7 + i;
    }
    OK(MPI_Sendrecv(out, 3, MPI_SHORT_INT, right_rank, 8, in, 3, MPI_SHORT_INT, left_rank, 8, MPI_COMM_WORLD,
                    &status));
    OK(MPI_Get_count(&status, MPI_SHORT_INT, &count));
    OK(MPI_Get_elements(&status, MPI_SHORT_INT, &elements));
    CHECK(count == 3 && elements == 6);
    OK(MPI_Get_elements(&status, MPI_BYTE, &elements));
    CHECK(elements == 18);
    for (i = 0; i < 3; i++)
        CHECK(in[i].value == left_rank + i && in[i].index == left_rank * 7 + i);
    CHECK(((char *)in)[2] == 0x44);
}

static void in_collectives(void)
{
    struct particle own, *all = check_room((size_t)check_size * sizeof own);
    struct particle *back = check_room((size_t)check_size * sizeof own);
    int *counts = check_room((size_t)check_size * sizeof(int)), *displs = check_room((size_t)check_size * sizeof(int));
    MPI_Datatype type = particles();
    int i, wrong = 0, root = check_size - 1;

    for (i = 0; i < check_size; i++) {
        memset(&all[i], 0x33, sizeof own);
        memset(&back[i], 0x33, sizeof own);
        counts[i] = 1;
        displs[i] = check_size - 1 - i;
    }
    set_particle(&own, check_rank, 1);
    OK(MPI_Gather(&own, 1, type, all, 1, type, root, MPI_COMM_WORLD));
    for (i = 0; i < check_size && check_rank == root; i++)
        wrong += !is_particle(&all[i], i, 1);
    OK(MPI_Allgather(&own, 1, type, all, 1, type, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&all[i], i, 1);
    OK(MPI_Allgatherv(&own, 1, type, back, counts, displs, type, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&back[check_size - 1 - i], i, 1);
    memset(&own, 0x33, sizeof own);
    OK(MPI_Scatter(all, 1, type, &own, 1, type, root, MPI_COMM_WORLD));
    wrong += !is_particle(&own, check_rank, 1);
    memset(&own, 0x33, sizeof own);
    OK(MPI_Scatterv(back, counts, displs, type, &own, 1, type, 0, MPI_COMM_WORLD));
    wrong += !is_particle(&own, check_rank, 1);
    for (i = 0; i < check_size; i++)
        set_particle(&all[i], check_rank, i);
    OK(MPI_Alltoall(all, 1, type, back, 1, type, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&back[i], i, check_rank);
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, type, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&all[i], i, check_rank);
    OK(MPI_Alltoallv(all, counts, displs, type, back, counts, displs, type, MPI_COMM_WORLD));
    /* Rank i sends its place size - 1 - me; that holds what rank size - 1 - me gave to rank i. */
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&back[check_size - 1 - i], check_size - 1 - check_rank, i);
    set_particle(&all[check_rank], check_rank, 2);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, type, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        wrong += !is_particle(&all[i], i, 2);
    set_particle(&own, check_rank, 3);
    OK(MPI_Bcast(&own, 1, type, root, MPI_COMM_WORLD));
    wrong += !is_particle(&own, root, 3);
    CHECK(wrong == 0);
    OK(MPI_Type_free(&type));
    free(all);
    free(back);
    free(counts);
    free(displs);
}

static MPI_Datatype summed;

/* Adds places and ids. */
static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    struct particle *a = in, *b = inout;
    int i, k;

    CHECK(*type == summed);
    for (i = 0; i < *len; i++) {
        for (k = 0; k < 3; k++)
            b[i].place[k] += a[i].place[k];
        b[i].id += a[i].id;
    }
}

/* Adds matrices with gaps, each longer than what is combined at a time. */
static void add_columns(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int n, i, j;

    (void)type;
    for (n = 0; n < *len; n++) {
        int *a = (int *)in + n * ROWS * COLUMNS, *b = (int *)inout + n * ROWS * COLUMNS;

        for (i = 0; i < ROWS; i++)
            for (j = 0; j < 30; j++)
                b[i * COLUMNS + j] += a[i * COLUMNS + j];
    }
}

static void reductions(void)
{
    enum { MANY = 100 };
    static struct particle own[MANY], result[MANY];
    MPI_Datatype wide;
    MPI_Op op;
    int i, j, wrong = 0, root = check_size - 1, ids = 0;
    double places = 0;

    summed = particles();
    OK(MPI_Op_create(add, 1, &op));
    for (i = 0; i < check_size; i++) {
        ids += i * 1000;
        places += i;
    }
    for (i = 0; i < MANY; i++) {
        set_particle(&own[i], check_rank, i);
        memset(&result[i], 0x33, sizeof result[i]);
    }
    OK(MPI_Reduce(own, result, MANY, summed, op, root, MPI_COMM_WORLD));
    for (i = 0; i < MANY && check_rank == root; i++)
        wrong += result[i].id != ids + check_size * i || result[i].place[1] != places + check_size * (i * 0.25 + 1);
    CHECK(wrong == 0 && ((char *)result)[1] == 0x33);
    OK(MPI_Allreduce(MPI_IN_PLACE, own, MANY, summed, op, MPI_COMM_WORLD));
    for (i = 0; i < MANY; i++)
        wrong += own[i].id != ids + check_size * i || own[i].place[2] != places + check_size * (i * 0.25 + 2);
    CHECK(wrong == 0);
    for (i = 0; i < MANY; i++)
        set_particle(&own[i], check_rank, i);
    OK(MPI_Scan(own, result, 3, summed, op, MPI_COMM_WORLD));
    for (i = 0; i < 3; i++)
        wrong += result[i].id != 1000 * (check_rank * (check_rank + 1) / 2) + (check_rank + 1) * i;
    CHECK(wrong == 0);
    set_particle(&own[1], 5, 1);
    set_particle(&own[2], 6, 2);
    OK(MPI_Reduce_local(&own[1], &own[2], 1, summed, op));
    CHECK(own[2].id == 5001 + 6002 && own[2].kind == 2);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&summed));

    OK(MPI_Type_vector(ROWS, 30, COLUMNS, MPI_INT, &wide));
    OK(MPI_Type_commit(&wide));
    OK(MPI_Op_create(add_columns, 1, &op));
    fill(check_rank);
    OK(MPI_Allreduce(matrix, other, 1, wide, op, MPI_COMM_WORLD));
    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++)
            wrong += other[i][j] != (j >= 30 ? -1 : ids * 100 + check_size * (i * COLUMNS + j));
    CHECK(wrong == 0);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&wide));
}

/* A request that is given up goes on, with its type. */
static void given_up(void)
{
    MPI_Datatype type = columns(2);
    MPI_Request request;
    int flag = 0;

    fill(check_rank);
    OK(MPI_Irecv(&other[0][3], 1, type, left_rank, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Isend(&matrix[0][3], 1, type, right_rank, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Type_free(&type));
    /* The last element says that all are there. */
    while (!flag) {
        POLL(MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        flag = *(volatile int *)&other[ROWS - 1][4] != -1;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    check_columns(3, 3, 2);
    /* What the ones above were lent is given back when another one is. */
    type = columns(1);
    fill(check_rank);
    OK(MPI_Sendrecv(&matrix[0][3], 1, type, right_rank, 9, &other[0][3], 1, type, left_rank, 9, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    check_columns(3, 3, 1);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    check_unused();
    check_start(&argc, &argv);
    right_rank = (check_rank + 1) % check_size;
    left_rank = (check_rank + check_size - 1) % check_size;
    in_all_modes();
    rows_to_columns();
    parts_of_arrays();
    short_and_long();
    at_the_bottom();
    pairs_have_no_gaps();
    in_collectives();
    reductions();
    given_up();
    return check_end("conf_typed");
}
