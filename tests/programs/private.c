/* What each process has for itself, though all may be in one: variables, the C library's state, time. With WAITS each
 * waits for a message that nothing sends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef BYTES
#define BYTES 20000
#endif

static char bytes[BYTES] = "as it was";
static int calls;

static void at_the_end(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (calls != rank)
        printf("rank %d: at its end %d calls\n", rank, calls);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    int rank, size, round, rounds = argc > 1 ? atoi(argv[1]) : 1;
    long at, wrong = 0, sum = 0;
    char name[16], words[] = "a b c d e f g h i";
    char *word;
    time_t begin = time(NULL);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    atexit(at_the_end);
#ifdef WAITS
    MPI_Recv(&round, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
    srand((unsigned)rank);
    snprintf(name, sizeof name, "%d", rank);
    setenv("WHO", name, 1);
    word = strtok(words, " ");
    for (round = 0; round < rounds; round++) {
        for (at = rank; at < BYTES; at += 997)
            bytes[at] = (char)(rank + round);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, round, &calls, 1, MPI_INT, (rank + size - 1) % size, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += calls != (rank + size - 1) % size;
        MPI_Barrier(MPI_COMM_WORLD);
        for (at = rank; at < BYTES; at += 997)
            wrong += bytes[at] != (char)(rank + round);
        wrong += word == NULL || *word != "abcdefghi"[round % 9] || strcmp(getenv("WHO"), name) != 0;
        word = strtok(NULL, " ");
        sum += rand() % 1000;
    }
    sleep(rank == 0);
    wrong += rank == 0 && time(NULL) < begin + 1;
    printf("rank %d of %d: %ld wrong, drawn %ld\n", rank, size, wrong, sum);
    calls = rank;
    exit(wrong != 0);
}
