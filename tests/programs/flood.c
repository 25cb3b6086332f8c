/* Each rank prints many numbered lines on stdout, and a few on stderr.
 *
 *   flood LINES
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, line;
    int lines = argc > 1 ? atoi(argv[1]) : 1000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (line = 0; line < lines; line++) {
        printf("line %d of %d: some words that fill the ring sooner\n", line, lines);
        if (line % 100 == 0)
            fprintf(stderr, "error %d\n", line);
    }
    MPI_Finalize();
    return 0;
}
