/* Sends messages, and then never ends: rank 0 computes, rank 1 looks for a message that never comes, others wait for it. */

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 10; i++) {
        int there = (rank + 1) % size, here = (rank + size - 1) % size, value;
        MPI_Sendrecv(&i, 1, MPI_INT, there, 0, &value, 1, MPI_INT, here, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        puts("computing");
        for (volatile int at = 0;; at = (at + 1) % 1000) continue;
    }
    while (rank == 1 && !flag) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&flag, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
