/* The first completed receive is assumed to be the first of the array: rank 0 then answers only that process, and stops
 * the others in the order of their ranks. Four ranks. */
#include <mpi.h>

enum { STOP = 0 };

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Request requests[16];
        int values[16], index, stop = STOP;
        for (int i = 1; i < size; i++)
            MPI_Irecv(&values[i - 1], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i - 1]);
        MPI_Waitany(size - 1, requests, &index, MPI_STATUS_IGNORE);
        if (index == 1)
            MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
        for (int i = 1; i < size; i++)
            MPI_Send(&stop, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
    } else {
        int answer;
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
