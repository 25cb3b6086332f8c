/* Conformance: buffered sends out of the attached buffer (MPI-3.1, sections 3.4 and 3.6). */
#include "check.h"

enum { COUNT = 20, BYTES = 700 };

static int right, left;
static unsigned char sent[COUNT][BYTES], got[BYTES];

/* Everybody sends before anybody receives, and the last message is received first. */
static void many(void)
{
    int room = COUNT * (BYTES + MPI_BSEND_OVERHEAD), size = -1, i, pass;
    unsigned char *buffer = check_room((size_t)room), *back = NULL;
    MPI_Request request;
    MPI_Status status;

    OK(MPI_Buffer_attach(buffer, room));
    for (pass = 0; pass < 3; pass++) {
        for (i = 0; i < COUNT; i++) {
            check_fill(sent[i], BYTES, check_rank, i);
            if (i % 2) {
                OK(MPI_Bsend(sent[i], BYTES - i, MPI_BYTE, right, i, MPI_COMM_WORLD));
            } else {
                OK(MPI_Ibsend(sent[i], BYTES - i, MPI_BYTE, right, i, MPI_COMM_WORLD, &request));
                OK(MPI_Wait(&request, &status));
                CHECK(request == MPI_REQUEST_NULL);
            }
            /* The message is in the buffer: the program's own copy may change. */
            memset(sent[i], 0xaa, BYTES);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (i = COUNT - 1; i >= 0; i--) {
            memset(got, 0, BYTES);
            OK(MPI_Recv(got, BYTES, MPI_BYTE, left, i, MPI_COMM_WORLD, &status));
            CHECK(check_wrong(got, (size_t)(BYTES - i), left, i) == 0);
        }
        /* All received everywhere: the whole buffer is free again. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == buffer && size == room);
    free(buffer);
}

/* Detaching waits for what is in the buffer; the memory may be overwritten afterwards. */
static void detached(void)
{
    int room = BYTES + MPI_BSEND_OVERHEAD, size, i, other = 0;
    unsigned char *buffer = check_room((size_t)room), *back;
    static unsigned char small[MPI_BSEND_OVERHEAD + 1];
    MPI_Request request;

    for (i = 0; i < 5; i++) {
        OK(MPI_Irecv(got, BYTES, MPI_BYTE, left, 100 + i, MPI_COMM_WORLD, &request));
        check_fill(sent[0], BYTES, check_rank, 100 + i);
        OK(MPI_Buffer_attach(buffer, room));
        OK(MPI_Bsend(sent[0], BYTES, MPI_BYTE, right, 100 + i, MPI_COMM_WORLD));
        OK(MPI_Buffer_detach(&back, &size));
        memset(buffer, 0x55, (size_t)room);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(check_wrong(got, BYTES, left, 100 + i) == 0);
    }
    free(buffer);

    /* With nobody to send to, no room is needed. */
    OK(MPI_Buffer_attach(small, (int)sizeof small));
    OK(MPI_Bsend(sent[0], BYTES, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == small && size == (int)sizeof small);
    OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 7, &other, 1, MPI_INT, left, 7, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(other == left);
}

/* To oneself and to the others, messages from buffers are in order with standard ones. */
static void ordered(void)
{
    int room = 10 * (int)(sizeof(int) + MPI_BSEND_OVERHEAD), size, i, to, value, values[20];
    char *buffer = check_room((size_t)room), *back;
    MPI_Request requests[10];

    OK(MPI_Buffer_attach(buffer, room));
    for (to = 0; to < 2 && to < check_size; to++) {
        for (i = 0; i < 20; i++) {
            values[i] = 1000 * check_rank + i;
            if (i % 2)
                OK(MPI_Bsend(&values[i], 1, MPI_INT, to ? right : check_rank, 9, MPI_COMM_WORLD));
            else
                OK(MPI_Isend(&values[i], 1, MPI_INT, to ? right : check_rank, 9, MPI_COMM_WORLD,
                             &requests[i / 2]));
        }
        for (i = 0; i < 20; i++) {
            value = -1;
            OK(MPI_Recv(&value, 1, MPI_INT, to ? left : check_rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == 1000 * (to ? left : check_rank) + i);
        }
        OK(MPI_Waitall(10, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Buffer_detach(&back, &size));
    free(buffer);
}

/* A message that does not fit is an error, and nothing of it is sent. */
static void full(void)
{
    int room = 1000 + MPI_BSEND_OVERHEAD, size, value = 3, code, sent_all = 0, wanted, i;
    char *buffer = check_room((size_t)room), *back, *big = check_room(2000);
    MPI_Comm comm;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, right, 1, comm));
    memset(big, 1, 2000);
    OK(MPI_Buffer_attach(buffer, room));
    FAILS(MPI_ERR_BUFFER, MPI_Buffer_attach(big, 2000));
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(big, 2000, MPI_BYTE, right, 1, comm));
    /* Until nobody has room for more: whether the first messages have left by then is open. */
    for (i = 0; i < 50; i++) {
        code = MPI_Bsend(big, 300, MPI_BYTE, right, 2, comm);
        if (code != MPI_SUCCESS)
            break;
        sent_all++;
    }
    CHECK(sent_all >= 3);
    OK(MPI_Sendrecv(&sent_all, 1, MPI_INT, right, 3, &wanted, 1, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE));
    for (i = 0; i < wanted; i++)
        OK(MPI_Recv(big, 2000, MPI_BYTE, left, 2, comm, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(comm));
    OK(MPI_Bsend(big, 1000, MPI_BYTE, right, 4, comm));
    OK(MPI_Recv(big, 2000, MPI_BYTE, left, 4, comm, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == buffer && size == room);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_free(&comm));
    free(buffer);
    free(big);
}

/* What is in the buffer at the end still arrives: MPI_Finalize detaches. */
static char last[1000];

static void left_to_the_end(void)
{
    OK(MPI_Buffer_attach(last, (int)sizeof last));
    OK(MPI_Bsend("last", 5, MPI_CHAR, right, 8, MPI_COMM_WORLD));
    OK(MPI_Recv(got, BYTES, MPI_CHAR, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(strcmp((char *)got, "last") == 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    many();
    detached();
    ordered();
    full();
    left_to_the_end();
    return check_end("conf_buffered");
}
