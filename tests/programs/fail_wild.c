/* Wild stores into the memory that a rank shares with its neighbours, as bad pointers make them, while all ranks exchange
 * messages round a ring and look at every byte.
 *
 *     fail_wild SEED STORES [DIRECTIONS]
 *
 * Rank 1 makes so many stores of 1, 2, 4 or 8 bytes, one before each round, at places that SEED draws: in what its process has
 * mapped writable of the job's memory, or on a node in the rings and words of its first DIRECTIONS (default 4) links.
 * Most harm nothing. Else the job must end with a message that names the link, and no rank may take a wrong byte.
 *
 * Exit status: 0, or 1 when the runtime has ended the job for a store, or 3 when a rank has taken a wrong byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { LARGEST = 70000, MORE_ROUNDS = 20, PAUSE_EVERY = 8, MOST_AREAS = 64 };

static unsigned char out[LARGEST], in[LARGEST];
static uint64_t state;

struct area {
    uint64_t start, bytes;
};

static struct area areas[MOST_AREAS];
static int count;

static uint64_t drawn(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void add(uint64_t start, uint64_t bytes)
{
    if (count < MOST_AREAS)
        areas[count++] = (struct area){start, bytes};
}

#ifdef __riscv
/* As kernel-rt/src/board/virt/neighbours.rs has them. */
static void find(int directions)
{
    const uint64_t windows = 0x3000000000, window = 0x40000, word = 0x20000;
    int d;

    for (d = 0; d < directions; d++) {
        add(windows + d * window, 17 << 12);
        add(windows + d * window + word, 64);
    }
    add(windows + 6 * window, 64);
}
#else
static void find(int directions)
{
    char line[400];
    FILE *maps = fopen("/proc/self/maps", "r");

    (void)directions;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;

        if (strstr(line, "memfd:midplane") && strstr(line, " rw") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            add(start, end - start);
    }
    if (maps)
        fclose(maps);
}
#endif

static void store(int number)
{
    const struct area *area = &areas[drawn(count)];
    uint64_t bytes = UINT64_C(1) << drawn(4), within = area->bytes, value = drawn(64);
    uint64_t at;

    /* Every second where indices and words are. */
    if (drawn(2) && within > 256)
        within = 256;
    at = area->start + drawn(within) / bytes * bytes;
    if (drawn(2))
        value = drawn(UINT64_C(1) << 32) << 32 | drawn(UINT64_C(1) << 32);
    printf("store %d: %d bytes, %llx at %llx\n", number, (int)bytes, (unsigned long long)value, (unsigned long long)at);
    fflush(stdout);
    switch (bytes) {
    case 1: *(volatile uint8_t *)(uintptr_t)at = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)(uintptr_t)at = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)(uintptr_t)at = (uint32_t)value; break;
    default: *(volatile uint64_t *)(uintptr_t)at = value;
    }
}

static unsigned char expected(int from, int round, int i)
{
    return (unsigned char)(from * 89 + round * 31 + i * 7 + (i >> 8));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {8, 100, 8, 3000, 16, LARGEST};
    int rank, size, stores, round, next, last, i;
    double longest = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    state = (uint64_t)atoll(argv[1]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    stores = atoi(argv[2]);
    find(argc > 3 ? atoi(argv[3]) : 4);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (round = 0; round < stores + MORE_ROUNDS; round++) {
        int length = lengths[round % 6];
        double start = MPI_Wtime();

        for (i = 0; i < length; i++)
            out[i] = expected(rank, round, i);
        if (rank == 1 && round < stores)
            store(round);
        if (rank == 1 && round % PAUSE_EVERY == 0)
            while (MPI_Wtime() - start < 0.002)
                ;
        MPI_Sendrecv(out, length, MPI_BYTE, next, 0, in, length, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < length; i++)
            if (in[i] != expected(last, round, i)) {
                printf("rank %d: byte %d of round %d is wrong\n", rank, i, round);
                fflush(stdout);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
        if (MPI_Wtime() - start > longest)
            longest = MPI_Wtime() - start;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d stores; the longest round took %.0f ms\n", stores, longest * 1000);
    MPI_Finalize();
    return 0;
}
