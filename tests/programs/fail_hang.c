/* Never ends: rank 0 waits for a message with tag 42 that nobody sends, the last rank (of at least 3)
 * computes for ever, and the others wait for both in a barrier. With an argument the last rank polls instead, by
 * MPI_Test, or by MPI_Iprobe where it is "probe". */
#include <stdio.h>
#include <string.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value, flag = 0;
    MPI_Request request;
    volatile int forever = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        printf("waiting for a message that never comes\n");
        MPI_Recv(&value, 1, MPI_INT, size - 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (argc > 1 && rank == size - 1) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 43, MPI_COMM_WORLD, &request);
        while (!flag) {
            if (strcmp(argv[1], "probe") == 0)
                MPI_Iprobe(0, 44, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            else
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
    } else if (size > 2 && rank == size - 1) {
        while (forever)
            ;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
