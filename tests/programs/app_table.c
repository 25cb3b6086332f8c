/* A hash table that all ranks share: each has a part of it in a window, and enters, counts and looks up words in the
 * parts of all, without any rank's help. The same words are then looked for by other ranks, and the totals are known. */
#include "check.h"

enum { SLOTS = 128, WORDS = 60, ROUNDS = 3 };

/* A slot: the key, 0 for none, how often it was entered, and the sum of what came with it. */
enum { KEY, COUNT, SUM, FIELDS };

static long *table;
static MPI_Win win;

static long key_of(int word)
{
    unsigned long x = (unsigned long)word * 2654435761ul + 12345;

    x ^= x >> 13;
    return (long)(x % 1000000007ul) + 1;
}

/* Where a key's search begins, and the next place. */
static void place(long key, int step, int *rank, MPI_Aint *slot)
{
    long at = (key + step) % ((long)check_size * SLOTS);

    *rank = (int)(at % check_size);
    *slot = at / check_size * FIELDS;
}

/* Finds the slot of a key, and takes one for it if there is none. */
static void enter(long key, int *rank, MPI_Aint *slot)
{
    long none = 0, found;
    int step;

    for (step = 0; step < check_size * SLOTS; step++) {
        place(key, step, rank, slot);
        POLL(MPI_Compare_and_swap(&key, &none, &found, MPI_LONG, *rank, *slot + KEY, win));
        POLL(MPI_Win_flush_local(*rank, win));
        if (found == 0 || found == key)
            return;
    }
    CHECK(!"room in the table");
}

/* How often a key was entered, and the sum; by reading alone. */
static long look_up(long key, long *sum)
{
    long fields[FIELDS];
    MPI_Aint slot;
    int step, rank;

    for (step = 0; step < check_size * SLOTS; step++) {
        place(key, step, &rank, &slot);
        POLL(MPI_Get(fields, FIELDS, MPI_LONG, rank, slot, FIELDS, MPI_LONG, win));
        POLL(MPI_Win_flush(rank, win));
        if (fields[KEY] == key) {
            *sum = fields[SUM];
            return fields[COUNT];
        }
        if (fields[KEY] == 0)
            return 0;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int word, round, rank = 0, taken = 0, all = 0;
    long sum, totals[2] = {0, 0}, expected;
    MPI_Aint slot = 0;

    check_start(&argc, &argv);
    OK(MPI_Win_allocate(SLOTS * FIELDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &win));
    memset(table, 0, SLOTS * FIELDS * sizeof(long));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (round = 0; round < ROUNDS; round++)
        for (word = 0; word < WORDS; word++) {
            long update[2];

            enter(key_of((word + check_rank) % WORDS), &rank, &slot);
            update[0] = 1;
            update[1] = check_rank * 10 + round;
            OK(MPI_Accumulate(update, 2, MPI_LONG, rank, slot + COUNT, 2, MPI_LONG, MPI_SUM, win));
        }
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    expected = 10L * ROUNDS * check_size * (check_size - 1) / 2 + (long)check_size * ROUNDS * (ROUNDS - 1) / 2;
    for (word = check_rank; word < WORDS; word++) {
        long count = look_up(key_of(word), &sum);

        CHECK(count == (long)ROUNDS * check_size && sum == expected);
    }
    CHECK(look_up(key_of(WORDS + 1), &sum) == 0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (word = 0; word < SLOTS; word++) {
        taken += table[word * FIELDS + KEY] != 0;
        totals[0] += table[word * FIELDS + COUNT];
    }
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Allreduce(&taken, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == WORDS);
    OK(MPI_Allreduce(&totals[0], &totals[1], 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(totals[1] == (long)WORDS * ROUNDS * check_size);
    OK(MPI_Win_free(&win));
    return check_end("app_table");
}
