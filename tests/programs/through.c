/* Through traffic: the ranks between the first and the last do something else while those two exchange
 * messages that pass through them: first they poll (MPI_Iprobe), then they compute and call nothing.
 *
 *     through [ROUNDS]      default 100
 *
 * Rank 0 prints how long the exchange took each time and how long the others computed: where the nodes
 * between forward by themselves, it takes as long while they compute as while they poll, and far less than
 * the computing.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

/* Whole-number work that the compiler cannot leave out. */
static unsigned long compute(double seconds)
{
    volatile unsigned long long state = 88172645463325252ull;
    double end = MPI_Wtime() + seconds;
    unsigned long rounds = 0;
    int i;

    do {
        for (i = 0; i < 100000; i++) {
            unsigned long long x = state;

            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state = x;
        }
        rounds++;
    } while (MPI_Wtime() < end);
    return rounds;
}

/* The exchange; the errors seen. */
static int exchange(int rank, int peer, int rounds)
{
    unsigned char buffer[600];
    int round, place, i, errors = 0;

    for (round = 0; round < rounds; round++) {
        for (i = 0; i < (int)sizeof buffer; i++)
            buffer[i] = (unsigned char)(round + i);
        for (place = 0; place < 2; place++) {
            if ((place == 0) == (rank == 0)) {
                MPI_Send(buffer, (int)sizeof buffer, MPI_BYTE, peer, round, MPI_COMM_WORLD);
            } else {
                for (i = 0; i < (int)sizeof buffer; i++)
                    buffer[i] = 0;
                MPI_Recv(buffer, (int)sizeof buffer, MPI_BYTE, peer, round, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                for (i = 0; i < (int)sizeof buffer; i++)
                    errors += buffer[i] != (unsigned char)(round + i);
            }
        }
    }
    return errors;
}

/* Polls until rank 0 says that the exchange is over. */
static void poll_until_told(void)
{
    int told = 0;

    while (!told)
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size, rounds, other, errors = 0, total = 0;
    double start, polled = 0.0, computed = 0.0, ends = 0.0, first;
    double work;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    if (rounds < 1 || size < 2) {
        if (rank == 0)
            fprintf(stderr, "usage: through [ROUNDS]: at least 1, with at least 2 processes\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank == 0 || rank == size - 1) {
        errors += exchange(rank, size - 1 - rank, rounds);
        polled = MPI_Wtime() - start;
        for (other = 1; rank == 0 && other < size - 1; other++)
            MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    } else {
        poll_until_told();
    }
    /* Long enough to be told from the exchange, however busy the host is. */
    work = polled < 0.25 ? 1.0 : 4 * polled;
    MPI_Bcast(&work, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank == 0 || rank == size - 1) {
        errors += exchange(rank, size - 1 - rank, rounds);
        computed = MPI_Wtime() - start;
    } else {
        if (compute(work) == 0)
            errors++;
        ends = MPI_Wtime() - start;
    }
    first = ends > 0.0 ? ends : 1e9;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Reduce(&errors, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("through: %d rounds in %.6f seconds while the others polled\n", rounds, polled);
        if (size > 2)
            printf("through: %d rounds in %.6f seconds while the others computed for %.6f: %.2f times as long, "
                   "%d errors\n", rounds, computed, first, computed / polled, total);
        else
            printf("through: %d rounds in %.6f seconds, nobody between, %d errors\n", rounds, computed, total);
        if (size > 2 && computed >= first)
            printf("through: the exchange ended only after the computing did\n");
    }
    MPI_Finalize();
    return total != 0;
}
