/* Uses memory up on purpose: rank 0 starts sends that nobody receives until there is no memory for one
 * more request.
 *
 *     exhaust [return]
 *
 * By default the error is fatal and its message must say what ran out. With `return` the program sets
 * MPI_ERRORS_RETURN, receives the error as a value, has all messages received, and ends well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* A bound for MPIs with more memory than patience. */
#define MOST 200000

int main(int argc, char **argv)
{
    int rank, size, count = 0, code = MPI_SUCCESS, class = MPI_SUCCESS, length, value, i, errors = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request *requests;
    void *spare;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "return") != 0) || size < 2) {
        if (rank == 0)
            fprintf(stderr, "usage: exhaust [return], with at least 2 processes\n");
        MPI_Finalize();
        return 2;
    }
    if (argc == 2)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    if (rank == 0) {
        requests = malloc(MOST * sizeof *requests);
        /* Given back before the messages that end the experiment, which need memory too. */
        spare = malloc(16384);
        if (requests == NULL || spare == NULL) {
            fprintf(stderr, "exhaust: no memory for %d request handles\n", MOST);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (i = 0; i < MOST; i++)
            requests[i] = MPI_REQUEST_NULL;
        while (count < MOST) {
            value = count;
            code = MPI_Isend(&value, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[count]);
            if (code != MPI_SUCCESS)
                break;
            count++;
        }
        if (code != MPI_SUCCESS) {
            MPI_Error_class(code, &class);
            MPI_Error_string(code, text, &length);
            printf("exhaust: %s\n", text);
        }
        free(spare);
        value = count;
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        for (i = 0; i < count; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        printf("exhaust: %d sends at once, error class %d\n", count, class);
        free(requests);
        errors = count == 0;
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < value; i++)
            MPI_Recv(&code, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return errors;
}
