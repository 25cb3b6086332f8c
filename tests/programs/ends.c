/* Loses memory that a checker of leaks is to find, and says at its end what only a process that ends by itself can say:
 * by a function of atexit that is registered before MPI_Init, and by a destructor. With an argument, by a process that
 * does not end. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, stays;

static void last(void) { printf("rank %d: atexit\n", rank); }

__attribute__((destructor)) static void destructor(void) {
    printf("rank %d: destructor\n", rank);
    fflush(stdout);
    while (stays) pause();
}

int main(int argc, char **argv) {
    atexit(last);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *volatile lost = malloc(123456);
    lost[0] = 1;
    lost = NULL;
    int sum;
    MPI_Request request;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    stays = argc > 1;
    return 0;
}
