/* Conformance: sessions (MPI-4.0 chapter 11), and buffers of communicators and sessions (MPI-4.1 section 3.6). */
#include "check.h"

static int handled, handled_code;

static void handler(MPI_Session *session, int *code, ...)
{
    (void)session;
    handled++;
    handled_code = *code;
}

static MPI_Comm comm_of(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    OK(MPI_Group_from_session_pset(session, set, &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

/* Whether MPI_Init and MPI_Finalize have been called. */
static void world_is(int wanted_begun, int wanted_ended)
{
    int begun, ended;

    OK(MPI_Initialized(&begun));
    OK(MPI_Finalized(&ended));
    CHECK(begun == wanted_begun && ended == wanted_ended);
}

static void process_sets(MPI_Session session)
{
    int count = 0, flag, length, i, found = 0;
    char name[MPI_MAX_PSET_NAME_LEN], value[16];
    MPI_Info info;

    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK(count >= 2);
    for (i = 0; i < count; i++) {
        length = 0;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL));
        CHECK(length > 1 && length <= (int)sizeof(name));
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        CHECK((int)strlen(name) + 1 == length);
        found += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
        OK(MPI_Session_get_pset_info(session, name, &info));
        length = sizeof(value);
        OK(MPI_Info_get_string(info, "mpi_size", &length, value, &flag));
        CHECK(flag && atoi(value) == (strcmp(name, "mpi://SELF") == 0 ? 1 : check_size));
        OK(MPI_Info_free(&info));
    }
    CHECK(found == 2);
    length = 4;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
    CHECK(strlen(name) == 3 && length > 4);
    OK(MPI_Session_get_info(session, &info));
    length = sizeof(value);
    OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
    CHECK(flag);
    OK(MPI_Info_free(&info));
}

static void errors(MPI_Session session)
{
    MPI_Errhandler own, got;
    MPI_Group group;

    handled = 0;
    FAILS(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://NONE", &group));
    OK(MPI_Session_create_errhandler(handler, &own));
    OK(MPI_Session_set_errhandler(session, own));
    OK(MPI_Session_get_errhandler(session, &got));
    CHECK(got == own);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&own));
    FAILS(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 77, &(int){0}, NULL));
    CHECK(handled == 1);
    OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK(handled == 2 && handled_code == MPI_ERR_OTHER);
    OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
}

static void messages(MPI_Comm comm)
{
    int rank, size, sum = 0, next, got = -1;
    MPI_Comm copy, part;

    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    CHECK(size == check_size);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
    next = (rank + 1) % size;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &got, 1, MPI_INT, (rank + size - 1) % size, 3, comm,
                    MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_split(copy, rank % 2, rank, &part));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, part));
    CHECK(sum == rank % 2);
    FAILS(MPI_ERR_RANK, MPI_Send(&rank, 1, MPI_INT, size, 0, part));
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&copy));
}

/* The even ranks and the odd ones. */
static void two_groups(MPI_Session session)
{
    MPI_Group all, sides[2];
    MPI_Comm inter;
    int rank = check_rank, mine = rank % 2, size, value = rank, got = -1, range[1][3];

    if (check_size < 2)
        return;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    range[0][1] = check_size - 1;
    range[0][2] = 2;
    range[0][0] = 0;
    OK(MPI_Group_range_incl(all, 1, range, &sides[0]));
    range[0][0] = 1;
    OK(MPI_Group_range_incl(all, 1, range, &sides[1]));
    OK(MPI_Intercomm_create_from_groups(sides[mine], 0, sides[1 - mine], 0, "two groups", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &inter));
    OK(MPI_Comm_remote_size(inter, &size));
    CHECK(size == (check_size + mine) / 2);
    if (rank < 2) {
        OK(MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
        CHECK(got == 1 - rank);
    }
    OK(MPI_Barrier(inter));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Group_free(&sides[0]));
    OK(MPI_Group_free(&sides[1]));
    OK(MPI_Group_free(&all));
}

enum { ROOM = 200 + MPI_BSEND_OVERHEAD };

/* Sends through the buffers of a communicator, a session and the process, the preferred one first. */
static void buffers(MPI_Session session, MPI_Comm comm)
{
    static char of_comm[ROOM], of_session[ROOM], of_process[ROOM];
    char message[200], got[200];
    MPI_Request requests[3];
    void *buffer;
    MPI_Count large;
    int rank, size, i;

    OK(MPI_Comm_rank(comm, &rank));
    memset(message, 'a' + rank % 20, sizeof(message));
    FAILS(MPI_ERR_BUFFER, MPI_Comm_detach_buffer(comm, &buffer, &size));
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(message, 1, MPI_CHAR, rank, 0, comm));
    OK(MPI_Comm_attach_buffer(comm, of_comm, ROOM));
    FAILS(MPI_ERR_BUFFER, MPI_Comm_attach_buffer(comm, of_comm, ROOM));
    OK(MPI_Session_attach_buffer_c(session, of_session, (MPI_Count)ROOM));
    OK(MPI_Buffer_attach(of_process, ROOM));
    OK(MPI_Bsend(message, sizeof(message), MPI_CHAR, rank, 1, comm));
    OK(MPI_Comm_iflush_buffer(comm, &requests[0]));
    OK(MPI_Session_iflush_buffer(session, &requests[1]));
    OK(MPI_Buffer_iflush(&requests[2]));
    OK(MPI_Recv(got, sizeof(got), MPI_CHAR, rank, 1, comm, MPI_STATUS_IGNORE));
    CHECK(memcmp(got, message, sizeof(got)) == 0);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_flush_buffer(comm));
    OK(MPI_Comm_detach_buffer_c(comm, &buffer, &large));
    CHECK(buffer == of_comm && large == ROOM);
    OK(MPI_Bsend(message, sizeof(message), MPI_CHAR, rank, 2, comm));
    OK(MPI_Recv(got, sizeof(got), MPI_CHAR, rank, 2, comm, MPI_STATUS_IGNORE));
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_detach_buffer(session, &buffer, &size));
    CHECK(buffer == of_session && size == ROOM);
    OK(MPI_Bsend(message, sizeof(message), MPI_CHAR, rank, 3, comm));
    OK(MPI_Recv(got, sizeof(got), MPI_CHAR, rank, 3, comm, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&buffer, &size));
    CHECK(buffer == of_process);
    /* An automatic buffer has room for any number of messages. */
    OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    for (i = 0; i < 20; i++)
        OK(MPI_Bsend(message, sizeof(message), MPI_CHAR, rank, 4, comm));
    OK(MPI_Comm_iflush_buffer(comm, &requests[0]));
    memset(message, 0, sizeof(message));
    for (i = 0; i < 20; i++) {
        OK(MPI_Recv(got, sizeof(got), MPI_CHAR, rank, 4, comm, MPI_STATUS_IGNORE));
        CHECK(got[0] == 'a' + rank % 20 && got[199] == got[0]);
    }
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Comm_detach_buffer(comm, &buffer, &size));
    CHECK(buffer == MPI_BUFFER_AUTOMATIC);
    /* Freeing the communicator detaches its buffer. */
    OK(MPI_Comm_attach_buffer(comm, of_comm, ROOM));
}

/* Calls that need neither MPI_Init nor a session (MPI-4.0 section 11.4.1). */
static void at_any_time(void)
{
    char text[MPI_MAX_ERROR_STRING], value[16];
    int length, flag, class, code, keys;
    MPI_Info info, copy;
    MPI_Errhandler errhandler;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_set(info, "other", "1"));
    OK(MPI_Info_delete(info, "other"));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_get_nkeys(copy, &keys));
    CHECK(keys == 1);
    OK(MPI_Info_get_nthkey(copy, 0, text));
    CHECK(strcmp(text, "key") == 0);
    length = sizeof(value);
    OK(MPI_Info_get_string(copy, "key", &length, value, &flag));
    CHECK(flag && strcmp(value, "value") == 0 && MPI_Info_f2c(MPI_Info_c2f(copy)) == copy);
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_create_env(0, NULL, &info));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_create_errhandler(handler, &errhandler));
    OK(MPI_Errhandler_free(&errhandler));
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "new"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "new") == 0);
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
    OK(MPI_Error_class(MPI_ERR_RANK, &class));
    CHECK(class == MPI_ERR_RANK);
}

static void one_session(int with_world)
{
    MPI_Session session, other;
    MPI_Comm comm, own;
    int size;

    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    world_is(with_world, 0);
    comm = comm_of(session, with_world ? "MPI://world" : "mpi://WORLD", "one");
    OK(MPI_Comm_rank(comm, &check_rank));
    OK(MPI_Comm_size(comm, &check_size));
    own = comm_of(session, "mpi://SELF", "self");
    OK(MPI_Comm_size(own, &size));
    CHECK(size == 1);
    OK(MPI_Comm_free(&own));
    process_sets(session);
    errors(session);
    messages(comm);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    two_groups(other);
    buffers(session, comm);
    OK(MPI_Session_finalize(&other));
    CHECK(other == MPI_SESSION_NULL);
    messages(comm);
    OK(MPI_Comm_disconnect(&comm));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    MPI_Session session;
    int i, failed;

    world_is(0, 0);
    at_any_time();
    for (i = 0; i < 3; i++)
        one_session(0);
    world_is(0, 0);
    at_any_time();
    /* A session before, during and after MPI_Init. */
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    check_start(&argc, &argv);
    world_is(1, 0);
    OK(MPI_Session_finalize(&session));
    one_session(1);
    failed = check_end("conf_sessions");
    at_any_time();
    return failed || check_failed != 0;
}
