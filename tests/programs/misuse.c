/* Programs that misuse MPI and end nevertheless, each in one way; but for `ordered`, and `unlocked`, whose result depends on
 * the time. The argument selects the way. Four processes. */
#pragma GCC optimize("O0")

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank;

/* The datatypes of a send and its receive differ. */
static void types(void)
{
    float value = 1;

    if (rank == 1) {
        int sent = 7;

        MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&value, 1, MPI_FLOAT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The second field of a structure differs. */
static void structure(void)
{
    struct {
        int first;
        float second;
    } value = {1, 2};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, sizeof(int)};
    MPI_Datatype parts[2] = {MPI_INT, rank == 1 ? MPI_INT : MPI_FLOAT}, type;

    MPI_Type_create_struct(2, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    if (rank == 1)
        MPI_Send(&value, 1, type, 0, 3, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&value, 1, type, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

/* The processes reduce with different operations. */
static void operations(void)
{
    int value = rank, result;

    MPI_Allreduce(&value, &result, 1, MPI_INT, rank == 2 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

/* The processes reduce different datatypes. */
static void reductions(void)
{
    int value = rank, result;

    MPI_Allreduce(&value, &result, 1, rank == 2 ? MPI_UNSIGNED : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}


/* The program writes to the buffer of a pending send. */
static void writes(void)
{
    int value = rank, received;
    MPI_Request request;

    MPI_Isend(&value, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, &request);
    value = 9;
    MPI_Recv(&received, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The program reads the buffer of a pending receive. */
static void reads(void)
{
    int value = rank, received = 0, sum;
    MPI_Request request;

    MPI_Irecv(&received, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, &request);
    sum = received + 1;
    MPI_Send(&value, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (sum < 0)
        printf("%d\n", sum);
}

/* Two pending receives have the same buffer. */
static void overlaps(void)
{
    int value = rank, received[2];
    MPI_Request requests[2];

    MPI_Irecv(received, 2, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(received + 1, 1, MPI_INT, rank ^ 1, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&value, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, rank ^ 1, 4, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* A request is not completed. */
static void request(void)
{
    static int value, received;
    MPI_Request request;

    MPI_Isend(&value, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(&received, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The program frees an active request and does not learn when the operation is complete. */
static void freed(void)
{
    static int value;
    int received;
    MPI_Request request;

    if (rank == 0) {
        MPI_Isend(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (rank == 1) {
        MPI_Recv(&received, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A persistent request is never started. */
static void unstarted(void)
{
    int value = 0;
    MPI_Request request;

    MPI_Send_init(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Objects of each kind are not freed. */
static void objects(void)
{
    static int memory;
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Win window;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &window);
}

/* Both processes send before they receive. */
static void unsafe(void)
{
    int value = rank, received;

    MPI_Send(&value, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD);
    MPI_Recv(&received, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody receives a message. */
static void unreceived(void)
{
    int value = rank;

    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
}

/* Two processes put to the same memory. */
static void put_both(void)
{
    int memory[4] = {0}, value = rank;
    MPI_Win window;

    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 1 || rank == 2)
        MPI_Put(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* A process stores to the memory that another one gets. */
static void stores(void)
{
    static volatile int memory[4];
    int value = rank;
    MPI_Win window;

    MPI_Win_create((void *)memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 1)
        MPI_Get(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
    if (rank == 0)
        memory[2] = 5;
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* A process stores to its window without a lock, while another one may get under a lock. */
static void unlocked(void)
{
    static volatile int memory[4];
    int value = rank;
    MPI_Win window;

    MPI_Win_create((void *)memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 0)
        memory[2] = 5;
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Get(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

/* Two receives with MPI_ANY_SOURCE may exchange their messages. */
static void race(void)
{
    int first, second, value = rank;

    if (rank == 0) {
        MPI_Recv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&second, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank < 3) {
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

/* The same receives, with an order that a message between the senders establishes. */
static void ordered(void)
{
    int first, second, value = rank;

    if (rank == 0) {
        MPI_Recv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&first, 1, MPI_INT, 2, 4, MPI_COMM_WORLD);
        MPI_Recv(&second, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Recv(&first, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"types", types},
    {"structure", structure},
    {"operations", operations},
    {"reductions", reductions},
    {"writes", writes},
    {"reads", reads},
    {"overlaps", overlaps},
    {"request", request},
    {"freed", freed},
    {"unstarted", unstarted},
    {"objects", objects},
    {"unsafe", unsafe},
    {"unreceived", unreceived},
    {"puts", put_both},
    {"stores", stores},
    {"unlocked", unlocked},
    {"race", race},
    {"ordered", ordered},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Finalize();
    return 0;
}
