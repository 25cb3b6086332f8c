/* What the conformance programs of collectives on intercommunicators share: two groups, and what their members give. */
#ifndef GROUPS_H
#define GROUPS_H

#include "check.h"

/* The first third of the ranks, at least one, and the others: groups of different sizes. */
static int is_few, local_rank, local_size, remote_size;
static MPI_Comm part, inter;

static void make(void)
{
    int few = check_size / 3 > 0 ? check_size / 3 : 1;

    is_few = check_rank < few;
    local_size = is_few ? few : check_size - few;
    remote_size = check_size - local_size;
    local_rank = is_few ? check_rank : check_rank - few;
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_few, 0, &part));
    OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, is_few ? few : 0, 0, &inter));
}

/* What this process gives as the root: to itself, if this is its turn and its group's. */
static int root_of(int few_give, int root)
{
    if (is_few != few_give)
        return root;
    return local_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

/* The value of element i of a member, of the few or of the many. */
static int value(int of_few, int rank, int i)
{
    return (of_few ? 100000 : 500000) + 1000 * rank + i;
}

static int sum_of(int of_few, int size, int i)
{
    int rank, sum = 0;

    for (rank = 0; rank < size; rank++)
        sum += value(of_few, rank, i);
    return sum;
}

static int *row(int count, int filler)
{
    int i, *all = check_room((size_t)count * sizeof *all);

    for (i = 0; i < count; i++)
        all[i] = filler;
    return all;
}

static long differ(const int *got, int count, int of_few, int rank)
{
    long wrong = 0;
    int i;

    for (i = 0; i < count; i++)
        wrong += got[i] != value(of_few, rank, i);
    return wrong;
}

static int *mine(int count)
{
    int i, *all = row(count, 0);

    for (i = 0; i < count; i++)
        all[i] = value(is_few, local_rank, i);
    return all;
}

/* Strings of ranks, in order: what is combined must be neighbours. */
static void chain(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    int *a = in, *b = inout, i;

    (void)datatype;
    for (i = 0; i < *len; i++) {
        b[2 * i + 1] = a[2 * i + 1] + 1 == b[2 * i] ? b[2 * i + 1] : -1000;
        b[2 * i] = a[2 * i];
    }
}

#endif
