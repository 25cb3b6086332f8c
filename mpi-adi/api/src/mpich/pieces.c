
/* ---- Calls on many requests when the heap of the program has no space for their arrays: in pieces, which require none.
 * A call must not fail then, because it completes the operations that make space. ---- */
#define PIECE 32 /* Handles and statuses that fit the memory of a call on the stack. */
#define FOR_PIECES(count)                                                                                          \
    for (int first = 0, length = 0; (length = (count) - first < PIECE ? (count) - first : PIECE) > 0; first += length)

static mpich_status *at_status(mpich_status *statuses, int first) {
    return is_ignored(statuses) ? statuses : statuses + first;
}

static int startall_in_pieces(int count, int *requests) {
    FOR_PIECES(count) {
        int code = mpich_MPI_Startall(length, requests + first);
        if (code != 0)
            return code;
    }
    return 0;
}

/* Stores that requests which are complete have no error: only a call that fails does. */
static void set_success(mpich_status *statuses, int from, int to) {
    for (int at = from; at < to && !is_ignored(statuses); at++)
        statuses[at].MPI_ERROR = 0;
}

static int waitall_in_pieces(int count, int *requests, mpich_status *statuses) {
    int result = 0;
    FOR_PIECES(count) {
        int code = mpich_MPI_Waitall(length, requests + first, at_status(statuses, first));
        if (code != 0 && result == 0)
            set_success(statuses, 0, first);
        if (code == 0 && result != 0)
            set_success(statuses, first, first + length);
        result = code != 0 ? code : result;
    }
    return result;
}

static int request_get_status_all_in_pieces(int count, const int *requests, int *flag, mpich_status *statuses) {
    int is_complete = 1, code = 0;
    FOR_PIECES(count) {
        int is_piece = 0;
        int failure = mpich_MPI_Request_get_status_all(length, requests + first, &is_piece, at_status(statuses, first));
        code = failure != 0 ? failure : code;
        is_complete &= is_piece || failure != 0;
    }
    *flag = is_complete;
    return code;
}

static int testall_in_pieces(int count, int *requests, int *flag, mpich_status *statuses) {
    request_get_status_all_in_pieces(count, requests, flag, (mpich_status *)1);
    return *flag ? waitall_in_pieces(count, requests, statuses) : 0;
}

/* One request, with an index and a flag: of no active request if the index is MPI_UNDEFINED and the flag is set. */
#define ANY_IN_PIECES(name, function, type)                                                                        \
    static int name(int count, type *requests, int *index, int *flag, mpich_status *status) {                      \
        int is_active = 0;                                                                                         \
        FOR_PIECES(count) {                                                                                        \
            int code = function(length, requests + first, index, flag, status);                                    \
            if (*index != MPI_UNDEFINED)                                                                           \
                *index += first;                                                                                   \
            if (code != 0 || *index != MPI_UNDEFINED)                                                              \
                return code;                                                                                       \
            is_active |= !*flag;                                                                                   \
        }                                                                                                          \
        *flag = !is_active;                                                                                        \
        return 0;                                                                                                  \
    }
ANY_IN_PIECES(testany_in_pieces, mpich_MPI_Testany, int)
ANY_IN_PIECES(request_get_status_any_in_pieces, mpich_MPI_Request_get_status_any, const int)

static int waitany_in_pieces(int count, int *requests, int *index, mpich_status *status) {
    int code, flag;
    do {
        flag = 0;
        code = testany_in_pieces(count, requests, index, &flag, status);
    } while (code == 0 && !flag && *index == MPI_UNDEFINED);
    return code;
}

/* Some requests: MPI_UNDEFINED if none is active. */
#define SOME_IN_PIECES(name, function, type)                                                                       \
    static int name(int count, type *requests, int *outcount, int *indices, mpich_status *statuses) {              \
        int result = 0, total = 0, is_active = 0;                                                                  \
        FOR_PIECES(count) {                                                                                        \
            int found = 0;                                                                                         \
            int code = function(length, requests + first, &found, indices + total, at_status(statuses, total));    \
            if (code != 0 && result == 0)                                                                          \
                set_success(statuses, 0, total);                                                                   \
            if (code == 0 && result != 0 && found > 0)                                                             \
                set_success(statuses, total, total + found);                                                       \
            result = code != 0 ? code : result;                                                                    \
            is_active |= found != MPI_UNDEFINED;                                                                   \
            for (int at = 0; at < found; at++)                                                                     \
                indices[total + at] += first;                                                                      \
            total += found > 0 ? found : 0;                                                                        \
        }                                                                                                          \
        *outcount = is_active ? total : MPI_UNDEFINED;                                                             \
        return result;                                                                                             \
    }
SOME_IN_PIECES(testsome_in_pieces, mpich_MPI_Testsome, int)
SOME_IN_PIECES(request_get_status_some_in_pieces, mpich_MPI_Request_get_status_some, const int)

static int waitsome_in_pieces(int count, int *requests, int *outcount, int *indices, mpich_status *statuses) {
    int code;
    do
        code = testsome_in_pieces(count, requests, outcount, indices, statuses);
    while (code == 0 && *outcount == 0);
    return code;
}
