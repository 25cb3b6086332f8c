/* Fails on purpose: an MPI call with a bad argument under MPI_ERRORS_ARE_FATAL.
 *
 *     fail_args WHAT      rank, tag, count, datatype, comm, op, root, truncate or request
 *
 * The last rank makes the mistake; the message must name it, the call and the mistake.
 */
#include <stdio.h>
#include <string.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0, out = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    const char *what = argc > 1 ? argv[1] : "rank";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        if (strcmp(what, "rank") == 0) {
            MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
        } else if (strcmp(what, "tag") == 0) {
            MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
        } else if (strcmp(what, "count") == 0) {
            MPI_Recv(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(what, "datatype") == 0) {
            MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD);
        } else if (strcmp(what, "comm") == 0) {
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
        } else if (strcmp(what, "op") == 0) {
            MPI_Allreduce(&value, &out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
        } else if (strcmp(what, "root") == 0) {
            MPI_Bcast(&value, 1, MPI_INT, -1, MPI_COMM_WORLD);
        } else if (strcmp(what, "truncate") == 0) {
            int pair[2] = {0, 0};

            MPI_Isend(pair, 2, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
            MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(what, "request") == 0) {
            memset(&request, 0x5a, sizeof request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            fprintf(stderr, "fail_args: no mistake named %s\n", what);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        printf("not reached\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
