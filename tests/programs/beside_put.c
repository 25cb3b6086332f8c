/* Whether an MPI's MPI_Put works at all: exit status 0 if what each rank puts at the next one between two fences is
 * there after the second, fifty times, in memory of the program's own and in memory that the window allocates. */
#include <mpi.h>

static int lost(MPI_Win win, const int *base, int rank, int size)
{
    int i, lost = 0;

    MPI_Win_fence(0, win);
    for (i = 0; i < 50; i++) {
        int value = 100 * i + rank;

        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        lost += *base != 100 * i + (rank + size - 1) % size;
        MPI_Win_fence(0, win);
    }
    return lost;
}

int main(int argc, char **argv)
{
    int rank, size, own = -1, *base, mine, all = 1;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    mine = lost(win, &own, rank, size);
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    mine += lost(win, base, rank, size);
    MPI_Win_free(&win);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
