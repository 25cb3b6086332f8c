/* Fails on purpose: the last rank calls itself until its stack is used up.
 *
 *     fail_stack [BYTES]      bytes of stack that each call fills (default 64)
 *
 * A large BYTES shows that a frame cannot step over the guard below the stack unnoticed.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

static int deeper(int depth, int bytes)
{
    volatile char frame[bytes];
    int i, below;

    for (i = 0; i < bytes; i++)
        frame[i] = (char)depth;
    below = depth < 0 ? 0 : deeper(depth + 1, bytes);
    return below + frame[0];
}

int main(int argc, char **argv)
{
    int rank, size, bytes;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes = argc > 1 ? atoi(argv[1]) : 64;
    if (bytes < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: fail_stack [BYTES]: at least 1\n");
        MPI_Finalize();
        return 2;
    }
    if (rank == size - 1)
        printf("not reached: %d\n", deeper(0, bytes));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
