/* MPI_Finalize, called when the program's main has returned: by a destructor. Delete functions of the last attributes fail;
 * all are called while MPI still works, the first error goes to the error handler and is the result of MPI_Finalize, and
 * MPI has ended (MPI-3.1 sections 6.7.2, 8.3, 8.7). Any number of ranks. */
#include "check.h"

enum { ERROR_CODE = MPI_ERR_IO };

static int order[3], deletes, handled;

static int discard(MPI_Comm comm, int key, void *value, void *extra)
{
    int number = *(int *)value, sum = 0, one = 1;

    (void)key, (void)extra;
    order[deletes++] = number;
    CHECK(comm == (number == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size);
    return number == 1 ? MPI_SUCCESS : ERROR_CODE;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    handled++;
    CHECK(*comm == MPI_COMM_WORLD && *code == ERROR_CODE);
}

__attribute__((destructor)) static void last(void)
{
    long all[2] = {0, 0};
    int ended = 0, code;

    if (!IS_MPICH) { /* Which error it tells is not known. */
        code = MPI_Finalize();
        CHECK(code == ERROR_CODE && handled == 1);
        CHECK(deletes == 3 && order[0] == 2 && order[1] == 1 && order[2] == 0);
    } else
        OK(MPI_Finalize());
    OK(MPI_Finalized(&ended));
    CHECK(ended);
    all[0] = check_done;
    all[1] = check_failed;
    if (check_rank == 0)
        printf("conf_finalize: %d processes, %ld checks, %ld failed\n", check_size, all[0], all[1]);
    else if (check_failed > 0)
        printf("conf_finalize: %ld failed\n", all[1]);
}

int main(int argc, char **argv)
{
    static int numbers[3] = {0, 1, 2};
    MPI_Errhandler of_world;
    int i, key;

    check_start(&argc, &argv);
    if (IS_MPICH)
        return 0;
    OK(MPI_Comm_create_errhandler(handler, &of_world));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world));
    OK(MPI_Errhandler_free(&of_world));
    for (i = 0; i < 3; i++) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, discard, &key, NULL));
        OK(MPI_Comm_set_attr(i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, key, &numbers[i]));
        OK(MPI_Comm_free_keyval(&key));
    }
    return 0;
}
