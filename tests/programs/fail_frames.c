/* Fails on purpose: the last rank uses up its stack by frames of one size, each of which it touches at its ends only.
 *
 *     fail_frames BYTES      a recursion, or one array where BYTES is none of the sizes below; 30000: of a function that
 *                            calls no other
 *
 * However large a frame is, it must not step over what guards the stack.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define RECURSION(bytes)                                                \
    static __attribute__((noinline)) int recurse##bytes(int depth)     \
    {                                                                   \
        volatile char frame[bytes];                                     \
                                                                        \
        frame[0] = (char)depth;                                         \
        return depth < 0 ? 0 : recurse##bytes(depth + 1) + frame[0];    \
    }

RECURSION(32)
RECURSION(500)
RECURSION(1000)
RECURSION(6000)

static __attribute__((noinline)) void touch(volatile char *array, int bytes)
{
    array[0] = 1;
    array[bytes - 1] = 2;
}

static __attribute__((noinline)) int one_array(int bytes)
{
    volatile char *array = __builtin_alloca(bytes);

    touch(array, bytes);
    return array[0];
}

static __attribute__((noinline)) int leaf(int value)
{
    volatile char array[30000];

    array[0] = (char)value;
    array[sizeof array - 1] = 2;
    return array[0];
}

static int use_up(int bytes)
{
    switch (bytes) {
    case 32:
        return recurse32(1);
    case 500:
        return recurse500(1);
    case 1000:
        return recurse1000(1);
    case 6000:
        return recurse6000(1);
    case 30000:
        return leaf(1);
    default:
        return one_array(bytes);
    }
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        printf("not reached: %d\n", use_up(argc > 1 ? atoi(argv[1]) : 1000));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
