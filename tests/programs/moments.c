/* All ranks print at moments of their own while messages go round, and one of them may end the job in between: what is
 * shown, and in which order, is to be the same however a cluster is simulated. Or they never end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 40

static void end_by(const char *way, int size)
{
    volatile int *nowhere = NULL;

    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "fault") == 0)
        *nowhere = 1;
    if (strcmp(way, "mpi_abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(way, "error") == 0)
        MPI_Send(&size, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "wait") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size, round, got;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "forever") == 0) {
        printf("waiting\n");
        for (;;)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    for (round = 0; round < ROUNDS; round++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep((rank * 7 + round * 3) % 5);
        printf("%d at %.9f\n", round, MPI_Wtime());
        if (argc > 1 && round == ROUNDS / 2 && rank % 5 == 3) {
            fprintf(stderr, "the end of %d\n", rank);
            end_by(argv[1], size);
        }
    }
    MPI_Finalize();
    return rank == 5 ? 3 : 0;
}
