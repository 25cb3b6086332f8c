/* What goes on while a process computes, and calls nothing: one-sided operations, locks and a long message. Each of the
 * processes of even rank waits for memory that only others change; its partner's calls end although it makes none.
 *
 * Not a program for every MPI: the standard does not ask for this. */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define INTS 50000

/* Computes until the number is there, or a later one. */
static void spin(volatile int *place, int value) {
    volatile unsigned work = 0;
    while (*place < value)
        work = work * 1664525u + 1013904223u;
}

int main(int argc, char **argv) {
    int rank, size, round, *part, *row;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    row = malloc(INTS * sizeof *row);
    if (row == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Win_allocate(2 * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    part[0] = part[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (round = 1; round <= 3; round++) {
        if (rank % 2 == 0 && rank + 1 < size) {
            MPI_Request request;
            row[INTS - 1] = 0;
            MPI_Irecv(row, INTS, MPI_INT, rank + 1, round, MPI_COMM_WORLD, &request);
            /* The partner has locked, added, asked for the sum, and given the lock back. */
            spin(&part[1], 3 * round);
            spin(&row[INTS - 1], round);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank % 2 == 1) {
            int add = 1, sum = 0, i;
            for (i = 0; i < 3; i++) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank - 1, 0, win);
                MPI_Fetch_and_op(&add, &sum, MPI_INT, rank - 1, 0, MPI_SUM, win);
                MPI_Win_flush(rank - 1, win);
                sum++;
                MPI_Put(&sum, 1, MPI_INT, rank - 1, 1, 1, MPI_INT, win);
                MPI_Win_unlock(rank - 1, win);
            }
            for (i = 0; i < INTS; i++)
                row[i] = round;
            MPI_Ssend(row, INTS, MPI_INT, rank - 1, round, MPI_COMM_WORLD);
        }
    }
    MPI_Win_free(&win);
    free(row);
    MPI_Finalize();
    if (rank == 0)
        puts("all went on");
    return 0;
}
