/* The last rank goes on for some seconds when the others have ended. In each it prints more than waits on a board for
 * who reads the console: so that who reads what it prints has had an account of each board before.
 *
 *     ends_late SECONDS
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, second, seconds = argc > 1 ? atoi(argv[1]) : 1;
    double begun;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    begun = MPI_Wtime();
    MPI_Finalize();
    if (rank == size - 1) {
        for (second = 0; second < seconds; second++) {
            printf("%1200s\nsecond %d\n", "...", second);
            while (MPI_Wtime() - begun < second + 1)
                ;
        }
    }
    return 0;
}
