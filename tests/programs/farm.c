/* A master that gives work to whoever is free, and workers whose answers differ in length: wildcards,
 * MPI_Probe and MPI_Get_count.
 *
 *     farm [TASKS]      default 200; needs at least two ranks
 *
 * A task is a range of numbers; its answer, the lengths of their Collatz sequences.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { WORK, ANSWER, STOP, FIRST_LENGTH = 40, LENGTHS = 700 };

static int length_of(int task)
{
    return FIRST_LENGTH + task * 37 % LENGTHS;
}

static uint64_t collatz(uint64_t n)
{
    uint64_t steps = 0;

    for (; n != 1; steps++)
        n = n % 2 != 0 ? 3 * n + 1 : n / 2;
    return steps;
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL) {
        fprintf(stderr, "farm: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Sends the next task, if there is one, else the word to stop; true if there was one. */
static int give(int worker, int *next, int tasks)
{
    if (*next == tasks) {
        MPI_Send(NULL, 0, MPI_INT, worker, STOP, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Send(next, 1, MPI_INT, worker, WORK, MPI_COMM_WORLD);
    ++*next;
    return 1;
}

static void master(int size, int tasks)
{
    int next = 0, busy = 0, answers = 0, worker, count, i;
    uint64_t total = 0, *answer;
    MPI_Status status;

    for (worker = 1; worker < size; worker++)
        busy += give(worker, &next, tasks);
    while (busy > 0) {
        MPI_Probe(MPI_ANY_SOURCE, ANSWER, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_UINT64_T, &count);
        answer = room((size_t)count * sizeof *answer);
        MPI_Recv(answer, count, MPI_UINT64_T, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < count; i++)
            total += answer[i];
        free(answer);
        answers++;
        busy -= !give(status.MPI_SOURCE, &next, tasks);
    }
    printf("farm: %d answers, %" PRIu64 " steps in all\n", answers, total);
}

static void work(void)
{
    int task, i;
    uint64_t *answer;
    MPI_Status status;

    for (;;) {
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        answer = room((size_t)length_of(task) * sizeof *answer);
        for (i = 0; i < length_of(task); i++)
            answer[i] = collatz((uint64_t)task * 1000 + (uint64_t)i + 1);
        MPI_Send(answer, length_of(task), MPI_UINT64_T, 0, ANSWER, MPI_COMM_WORLD);
        free(answer);
    }
}

int main(int argc, char **argv)
{
    int rank, size, tasks = argc > 1 ? atoi(argv[1]) : 200;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || tasks < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: farm [TASKS], with at least 2 ranks\n");
        MPI_Finalize();
        return 2;
    }
    if (rank == 0)
        master(size, tasks);
    else
        work();
    MPI_Finalize();
    return 0;
}
