/* Conformance: programs that use their memory up by their own fault get MPI_ERR_NO_MEM, and lose nothing:
 * what was started before completes, and after that everything goes on (MPI-3.1, sections 3.5, 8.3).
 *
 * An MPI with more memory than patience gives no error: the checks are the same without one.
 */
#include "check.h"

/* Calls after which no error is waited for any more. */
enum { MOST = 6000 };

/* What is left of the heap for requests, in bytes. */
enum { LEFT = 60000 };

static int right, left;

/* Blocks that keep nothing of the heap for others; freed all at once. */
static void **hoard(void)
{
    void **blocks = NULL, **block;
    size_t bytes;

#ifdef MPICH_VERSION /* a machine with all its memory taken helps nobody */
    return blocks;
#endif
    for (bytes = 65536; bytes >= sizeof *block; bytes /= 2) {
        while ((block = malloc(bytes)) != NULL) {
            *block = blocks;
            blocks = block;
        }
    }
    return blocks;
}

static void set_free(void **blocks)
{
    while (blocks != NULL) {
        void **next = *blocks;

        free(blocks);
        blocks = next;
    }
}

/* After the error: its class, and a text that says what is used up. */
static void check_error(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = -1, length = 0;

    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_NO_MEM);
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && length == (int)strlen(text));
#ifdef MIDPLANE_MPI
    CHECK(strstr(text, "heap") != NULL && strstr(text, "--node-memory") != NULL);
#endif
}

/* As hoard(), but for about LEFT bytes. */
static void **hoard_most(void)
{
    void *spare = check_room(LEFT), **blocks = hoard();

    free(spare);
    return blocks;
}

/* Sends until there is no memory for one more, and then has them received. */
static void sends(void)
{
    MPI_Request *requests = check_room(MOST * sizeof *requests);
    int *values = check_room(MOST * sizeof *values), count, code = MPI_SUCCESS, wanted, value, i;
    void **blocks = hoard_most();

    for (count = 0; count < MOST; count++) {
        values[count] = 1000 * check_rank + count;
        code = MPI_Isend(&values[count], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[count]);
        if (code != MPI_SUCCESS)
            break;
    }
#ifdef MIDPLANE_MPI
    CHECK(code != MPI_SUCCESS);
#endif
    if (code != MPI_SUCCESS)
        check_error(code);
    CHECK(count > 100);
    /* Calls that block go on without memory of the heap. */
    OK(MPI_Sendrecv(&count, 1, MPI_INT, right, 2, &wanted, 1, MPI_INT, left, 2, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (i = 0; i < wanted; i++) {
        value = -1;
        OK(MPI_Recv(&value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == 1000 * left + i);
    }
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    set_free(blocks);
    free(values);
    free(requests);
}

/* Receives until there is no memory for one more; all of them are matched, in the order of posting. */
static void receives(void)
{
    MPI_Request *requests = check_room(MOST * sizeof *requests);
    int *values = check_room(MOST * sizeof *values), count, code = MPI_SUCCESS, wanted, value, i;
    void **blocks = hoard_most();

    for (count = 0; count < MOST; count++) {
        values[count] = -1;
        code = MPI_Irecv(&values[count], 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[count]);
        if (code != MPI_SUCCESS)
            break;
    }
#ifdef MIDPLANE_MPI
    CHECK(code != MPI_SUCCESS);
#endif
    if (code != MPI_SUCCESS)
        check_error(code);
    CHECK(count > 100);
    /* As often as is wanted: what one call takes is free for the next. */
    for (i = 0; i < 20; i++) {
        OK(MPI_Sendrecv(&count, 1, MPI_INT, left, 4, &wanted, 1, MPI_INT, right, 4, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        if (check_rank % 2 == 0 && check_size > 1)
            OK(MPI_Send(&i, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
        if (check_size > 1) {
            OK(MPI_Recv(&value, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i);
        }
        if (check_rank % 2 == 1)
            OK(MPI_Send(&i, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    }
    for (i = 0; i < wanted; i++) {
        value = 1000 * check_rank + i;
        OK(MPI_Send(&value, 1, MPI_INT, right, 3, MPI_COMM_WORLD));
    }
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < count; i++)
        CHECK(values[i] == 1000 * left + i);
    set_free(blocks);
    free(values);
    free(requests);
}

/* With nothing left of the heap, calls that block still work, and malloc gives NULL, as in C. */
static void nothing_left(void)
{
    static char big[3000], in[3000];
    static long many[1000], sums[1000];
    int i, value, got, flag, count, size, root = check_size - 1, class, code;
    static char attached[2000 + MPI_BSEND_OVERHEAD];
    char *back;
    void **blocks, **more;
    MPI_Status status;
    MPI_Comm comm;
    MPI_Request request, under_way[2];

    for (i = 0; i < 1000; i++)
        many[i] = 2 * i + check_rank;
    OK(MPI_Iallreduce(many, sums, 1000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &under_way[0]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &under_way[1]));
    OK(MPI_Buffer_attach(attached, (int)sizeof attached));
    blocks = hoard();
#ifdef MIDPLANE_MPI
    CHECK(blocks != NULL && malloc(64) == NULL && calloc(4, 16) == NULL);
    /* Collectives that were started before go on, and another one is refused. */
    FAILS(MPI_ERR_NO_MEM, MPI_Ireduce(&check_rank, &got, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF, &request));
#endif
    OK(MPI_Waitall(2, under_way, MPI_STATUSES_IGNORE));
    /* What those have given back. */
    more = hoard();
    for (i = 0; i < 1000; i++)
        CHECK(sums[i] == 2l * i * check_size + check_size * (check_size - 1) / 2);
    for (i = 0; i < 10; i++) {
        value = check_rank + i;
        OK(MPI_Sendrecv(&value, 1, MPI_INT, right, i, &got, 1, MPI_INT, left, i, MPI_COMM_WORLD, &status));
        CHECK(got == left + i);
    }
    check_fill((unsigned char *)big, sizeof big, check_rank, 1);
    if (check_rank == 0 || check_size == 1) {
        /* A send to oneself needs a receive, which is a request of its own: so to others only. */
        for (i = 1; i < check_size; i++)
            OK(MPI_Send(big, (int)sizeof big, MPI_CHAR, i, 20, MPI_COMM_WORLD));
        for (i = 1; i < check_size; i++) {
            OK(MPI_Probe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == 1);
            OK(MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(got == status.MPI_SOURCE);
        }
    } else {
        do
            POLL(MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag, &status));
        while (!flag);
        OK(MPI_Recv(in, (int)sizeof in, MPI_CHAR, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(check_wrong((unsigned char *)in, sizeof in, 0, 1) == 0);
        OK(MPI_Ssend(&check_rank, 1, MPI_INT, 0, 21, MPI_COMM_WORLD));
    }
    for (i = 0; i < 1000; i++)
        many[i] = i + check_rank;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Allreduce(many, sums, 1000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < 1000; i++)
        CHECK(sums[i] == (long)i * check_size + check_size * (check_size - 1) / 2);
    OK(MPI_Bcast(many, 1000, MPI_LONG, root, MPI_COMM_WORLD));
    CHECK(many[7] == 7 + root);
    OK(MPI_Reduce(many, sums, 1000, MPI_LONG, MPI_MAX, root, MPI_COMM_WORLD));
    OK(MPI_Scan(&check_rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(got == check_rank * (check_rank + 1) / 2);

    /* What needs memory fails politely or not at all, here and everywhere alike or nowhere. */
    code = MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS);
    code = MPI_Send_init(&value, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_NO_MEM);
    if (code == MPI_SUCCESS)
        OK(MPI_Request_free(&request));
#ifdef MIDPLANE_MPI
    /* A list of few members may fit into pieces that are too small for malloc. */
    code = MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_NO_MEM || class == MPI_SUCCESS);
    OK(MPI_Allreduce(&class, &got, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(class == got);
    if (code == MPI_SUCCESS)
        OK(MPI_Comm_free(&comm));
    FAILS(MPI_ERR_NO_MEM, MPI_Sendrecv_replace(in, (int)sizeof in, MPI_CHAR, right, 30, left, 30,
                                               MPI_COMM_WORLD, &status));
#endif
    set_free(more);
    set_free(blocks);

    /* And all is well again. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Sendrecv_replace(big, (int)sizeof big, MPI_CHAR, right, 31, left, 31, MPI_COMM_WORLD, &status));
    CHECK(check_wrong((unsigned char *)big, sizeof big, left, 1) == 0);
    OK(MPI_Buffer_detach(&back, &size));
}

#ifdef MIDPLANE_MPI
/* The same error, or none, at all processes. */
static void alike(int code, int is_certain)
{
    int class, highest;

    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_NO_MEM || (class == MPI_SUCCESS && !is_certain));
    if (class == MPI_ERR_NO_MEM)
        check_error(code);
    OK(MPI_Allreduce(&class, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(class == highest);
}

/* The memory of one is used up when the duplicate is under way. */
static void idup_where_one_has_none(void)
{
    MPI_Comm parent, comm;
    MPI_Request request;
    void **blocks;
    int key, code, i;

    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    OK(MPI_Comm_set_attr(parent, key, &key));
    OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    for (i = 0; i < 2; i++) {
        int is_hoarding = i == 0 && check_rank == check_size / 2;

        /* The others begin when it has no memory any more. */
        if (!is_hoarding)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Comm_idup(parent, &comm, &request));
        blocks = is_hoarding ? hoard() : NULL;
        if (is_hoarding)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        set_free(blocks);
        CHECK(request == MPI_REQUEST_NULL);
        if (i == 0) {
            alike(code, check_size > 1);
            CHECK((comm == MPI_COMM_NULL) == (code != MPI_SUCCESS));
            if (code == MPI_SUCCESS)
                OK(MPI_Comm_free(&comm));
        }
    }
    /* With memory again there is one. */
    OK(code);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&parent));
    OK(MPI_Comm_free_keyval(&key));
}

/* Starts that fail where one has no memory have done nothing: it starts them again, and the others have waited. */
static void starts_again(void)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    int one = 1, sum = 0;
    void **blocks;

    if (check_rank == check_size / 2) {
        blocks = hoard();
        FAILS(MPI_ERR_NO_MEM, MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[0]));
        FAILS(MPI_ERR_NO_MEM, MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
        set_free(blocks);
    }
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[0]));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == check_size);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}
#endif

/* What one process has no memory for, none has, and none waits for it. */
static void one_has_none(void)
{
#ifdef MIDPLANE_MPI
    enum { EDGES = 5000 };
    static int edges[EDGES];
    int dims[1] = {check_size}, periods[1] = {1}, index[64], counts[1] = {EDGES}, i, code;
    void **blocks;
    MPI_Comm comm;
    MPI_Group group;

    for (i = 0; i < check_size; i++)
        index[i] = i == 0 ? EDGES : index[i - 1];
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    blocks = check_rank == check_size / 2 ? hoard() : NULL;
    code = MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &comm);
    alike(code, 1);
    code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, edges, MPI_UNWEIGHTED, EDGES, edges, MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &comm);
    alike(code, 1);
    /* One gives edges to itself that it has no room for, and one gives edges that another has no room for. */
    code = MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, counts, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    alike(code, 1);
    i = check_size / 2;
    for (counts[0] = 0; counts[0] < EDGES; counts[0]++)
        edges[counts[0]] = i;
    code = MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == check_size - 1, &i, counts, edges, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
    alike(code, 1);
    memset(edges, 0, sizeof edges);
    code = MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comm);
    alike(code, 0);
    if (code == MPI_SUCCESS)
        OK(MPI_Comm_free(&comm));
    code = MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    alike(code, 0);
    if (code == MPI_SUCCESS)
        OK(MPI_Comm_free(&comm));
    code = MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    alike(code, 0);
    if (code == MPI_SUCCESS)
        OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    set_free(blocks);
    idup_where_one_has_none();
    starts_again();
    OK(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
#endif
}

/* Communicators used up: an error at all processes alike, and room again after a free. */
static void communicators(void)
{
#ifdef MIDPLANE_MPI
    enum { PLACES = 2100 };
    static MPI_Comm comms[PLACES];
    int count, code = MPI_SUCCESS, class, counts[2], all[2];

    for (count = 0; count < PLACES; count++) {
        code = MPI_Comm_dup(MPI_COMM_WORLD, &comms[count]);
        if (code != MPI_SUCCESS)
            break;
    }
    CHECK(code != MPI_SUCCESS && count >= 16);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_OTHER);
    counts[0] = count;
    counts[1] = -count;
    OK(MPI_Allreduce(counts, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(all[0] == count && all[1] == -count);
    OK(MPI_Comm_free(&comms[count / 2]));
    OK(MPI_Comm_dup(comms[0], &comms[count / 2]));
    OK(MPI_Barrier(comms[count / 2]));
    while (count > 0)
        OK(MPI_Comm_free(&comms[--count]));
#endif
}

int main(int argc, char **argv)
{
    int pass;

    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (pass = 0; pass < 2; pass++) {
        sends();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        receives();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        nothing_left();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        one_has_none();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        communicators();
    }
    return check_end("conf_exhaust");
}
