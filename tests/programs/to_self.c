/* Messages of 8 bytes from a process to itself, for what counts a process's instructions: MPI_Irecv, MPI_Send, MPI_Wait.
 *
 *     to_self [COUNT]      (default 1000)
 *
 * The instructions of a run less those of a shorter one are those of the messages between. Exit status: 0, or 1 if a
 * message was wrong.
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long count, i;
    int rank, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    count = argc > 1 ? atol(argv[1]) : 1000;
    for (i = 0; i < count; i++) {
        long out = i, in = -1;
        MPI_Request request;

        MPI_Irecv(&in, 1, MPI_LONG, rank, 1, MPI_COMM_WORLD, &request);
        MPI_Send(&out, 1, MPI_LONG, rank, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong |= in != i;
    }
    MPI_Finalize();
    return wrong;
}
