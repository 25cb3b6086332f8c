/* Ranks that have received short messages and then call MPI no more have answered them: the sender's places for
 * copies of short messages are free again without their help.
 *
 * Usage: answers NAME, with three processes on one machine. Rank r makes the file NAME.r when its part is done, outside
 * of MPI, and the others wait for it there.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { FIRST = 15, MORE = 3 };

static const char *name_of(const char *prefix, int rank)
{
    static char name[4096];

    snprintf(name, sizeof name, "%s.%d", prefix, rank);
    return name;
}

static void make(const char *prefix, int rank)
{
    FILE *file = fopen(name_of(prefix, rank), "w");

    if (file == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
}

static void await(const char *prefix, int rank)
{
    while (access(name_of(prefix, rank), F_OK) != 0)
        usleep(1000);
}

int main(int argc, char **argv)
{
    int rank, i, j, flag, value = 7, got[FIRST];
    MPI_Request requests[FIRST];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (i = 0; i < FIRST && rank > 0; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (i = 0; i < FIRST; i++)
            for (j = 1; j <= 2; j++)
                MPI_Send(&value, 1, MPI_INT, j, 0, MPI_COMM_WORLD);
        await(argv[1], 1);
        await(argv[1], 2);
        /* Takes what has come. */
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        for (i = 0; i < MORE; i++)
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        make(argv[1], 0);
    } else {
        MPI_Waitall(FIRST, requests, MPI_STATUSES_IGNORE);
        make(argv[1], rank);
        await(argv[1], 0);
        for (i = 0; i < MORE && rank == 1; i++)
            MPI_Recv(&got[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("all received");
    MPI_Finalize();
    return 0;
}
