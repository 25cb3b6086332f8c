/* Conformance: groups and communicators made of them (MPI-3.1, sections 6.3 and 6.4.2). */
#include "check.h"

static MPI_Group world;

/* The group must have exactly these ranks of MPI_COMM_WORLD. */
static void check_members(MPI_Group group, int size, const int *ranks)
{
    int *own = check_room((size_t)(size + 1) * sizeof *own), *there = check_room((size_t)(size + 1) * sizeof *there);
    int i, count = -1, rank = -9, mine = MPI_UNDEFINED;

    OK(MPI_Group_size(group, &count));
    CHECK(count == size);
    for (i = 0; i < size; i++) {
        own[i] = i;
        if (ranks[i] == check_rank)
            mine = i;
    }
    OK(MPI_Group_rank(group, &rank));
    CHECK(rank == mine);
    if (count == size) {
        OK(MPI_Group_translate_ranks(group, size, own, world, there));
        for (i = 0; i < size; i++)
            CHECK(there[i] == ranks[i]);
    }
    free(own);
    free(there);
}

static void algebra(void)
{
    int n = check_size, i, result, *list = check_room((size_t)n * sizeof *list);
    int *evens = check_room((size_t)n * sizeof *evens), even_count = 0, *rest = check_room((size_t)n * sizeof *rest);
    int range[1][3], two[2][3];
    MPI_Group backwards, even, odd, joined, common, again;

    for (i = 0; i < n; i++)
        list[i] = n - 1 - i;
    OK(MPI_Group_incl(world, n, list, &backwards));
    check_members(backwards, n, list);
    OK(MPI_Group_compare(world, backwards, &result));
    CHECK(result == (n == 1 ? MPI_IDENT : MPI_SIMILAR));
    range[0][0] = n - 1;
    range[0][1] = 0;
    range[0][2] = -1;
    OK(MPI_Group_range_incl(world, 1, range, &again));
    OK(MPI_Group_compare(again, backwards, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&again));
    CHECK(again == MPI_GROUP_NULL);

    for (i = 0; i < n; i += 2)
        evens[even_count++] = i;
    range[0][0] = 0;
    range[0][1] = n - 1;
    range[0][2] = 2;
    OK(MPI_Group_range_incl(world, 1, range, &even));
    check_members(even, even_count, evens);
    OK(MPI_Group_range_excl(world, 1, range, &odd));
    for (i = 0; i < n / 2; i++)
        rest[i] = 2 * i + 1;
    check_members(odd, n / 2, rest);
    OK(MPI_Group_excl(world, even_count, evens, &again));
    OK(MPI_Group_compare(again, odd, &result));
    CHECK(result == MPI_IDENT);
    if (again != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&again));

    OK(MPI_Group_union(odd, world, &joined));
    for (i = 0; i < n; i++)
        list[i] = i < n / 2 ? 2 * i + 1 : 2 * (i - n / 2);
    check_members(joined, n, list);
    OK(MPI_Group_intersection(backwards, even, &common));
    for (i = 0; i < even_count; i++)
        list[i] = evens[even_count - 1 - i];
    check_members(common, even_count, list);
    OK(MPI_Group_difference(world, even, &again));
    OK(MPI_Group_compare(again, odd, &result));
    CHECK(result == MPI_IDENT);
    if (again != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&again));
    OK(MPI_Group_difference(even, world, &again));
    CHECK(again == MPI_GROUP_EMPTY);
    check_members(again, 0, NULL);
    OK(MPI_Group_union(MPI_GROUP_EMPTY, even, &again));
    OK(MPI_Group_compare(again, even, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&again));
    if (n >= 5) {
        int want[5] = {4, 2, 0, 1, 3};

        two[0][0] = 4;
        two[0][1] = 0;
        two[0][2] = -2;
        two[1][0] = 1;
        two[1][1] = 4;
        two[1][2] = 2;
        OK(MPI_Group_range_incl(world, 2, two, &again));
        check_members(again, 5, want);
        OK(MPI_Group_free(&again));
    }
    list[0] = MPI_PROC_NULL;
    OK(MPI_Group_translate_ranks(even, 1, list, world, &result));
    CHECK(result == MPI_PROC_NULL);
    OK(MPI_Group_free(&backwards));
    OK(MPI_Group_free(&even));
    if (odd != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&odd));
    OK(MPI_Group_free(&joined));
    OK(MPI_Group_free(&common));
    free(list);
    free(evens);
    free(rest);
}

/* A communicator of the upper half, in reverse order; and one for each half at once. */
static void communicators(void)
{
    int n = check_size, half = n / 2, range[1][3], rank, size, sum, value, result, upper = check_rank >= half;
    MPI_Group group, back;
    MPI_Comm comm;

    range[0][0] = n - 1;
    range[0][1] = half;
    range[0][2] = -1;
    OK(MPI_Group_range_incl(world, 1, range, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    CHECK((comm != MPI_COMM_NULL) == upper);
    if (comm != MPI_COMM_NULL) {
        OK(MPI_Comm_rank(comm, &rank));
        OK(MPI_Comm_size(comm, &size));
        CHECK(size == n - half && rank == n - 1 - check_rank);
        OK(MPI_Comm_group(comm, &back));
        OK(MPI_Group_compare(group, back, &result));
        CHECK(result == MPI_IDENT);
        OK(MPI_Group_free(&back));
        value = check_rank;
        OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
        CHECK(value == n - 1);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Group_free(&group));

    if (n >= 2) {
        range[0][0] = upper ? half : 0;
        range[0][1] = upper ? n - 1 : half - 1;
        range[0][2] = 1;
        OK(MPI_Group_range_incl(world, 1, range, &group));
        OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
        OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == (upper ? n * (n - 1) / 2 - half * (half - 1) / 2 : half * (half - 1) / 2));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&group));
    }
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
}

static void mistakes(void)
{
    int ranks[2] = {0, 0}, one = check_size, result, range[1][3] = {{0, 0, 0}};
    MPI_Group group = MPI_GROUP_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &result));
    FAILS(MPI_ERR_GROUP, MPI_Group_union(world, MPI_GROUP_NULL, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 1, &one, &group));
#ifndef MPICH_VERSION /* MPICH 4.0.2 gives the class MPI_ERR_RANK. */
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 2, ranks, &group));
#endif
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, range, &group));
    FAILS(MPI_ERR_COMM, MPI_Comm_group(MPI_COMM_NULL, &group));
    FAILS(MPI_ERR_GROUP, MPI_Group_free(&group));
    CHECK(group == MPI_GROUP_NULL);
    (void)ranks;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* A communicator that its members alone make, while the others do something else (section 6.4.2). */
static void by_members_alone(void)
{
    MPI_Group group;
    MPI_Comm comm, half, parent;
    int range[1][3] = {{check_size - 1, 1, -2}}, rank, size, sum, i, pass;

    if (check_size == 1)
        range[0][1] = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    for (pass = 0; pass < 20; pass++) {
        OK(MPI_Group_range_incl(world, 1, range, &group));
        OK(MPI_Group_rank(group, &rank));
        comm = MPI_COMM_WORLD;
        if (rank != MPI_UNDEFINED)
            OK(MPI_Comm_create_group(pass % 2 ? MPI_COMM_WORLD : parent, group, pass, &comm));
        sum = -1;
        i = 1;
        OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, parent));
        CHECK(sum == check_size);
        if (rank != MPI_UNDEFINED) {
            OK(MPI_Comm_size(comm, &size));
            OK(MPI_Comm_rank(comm, &i));
            CHECK(i == rank);
            OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
            for (i = 0; i < size; i++)
                sum -= check_size - 1 - 2 * i;
            CHECK(sum == 0);
            OK(MPI_Comm_create_group(comm, group, 0, &half));
            OK(MPI_Comm_compare(comm, half, &i));
            CHECK(i == MPI_CONGRUENT);
            OK(MPI_Comm_free(&half));
            OK(MPI_Comm_free(&comm));
        }
        OK(MPI_Group_free(&group));
    }
    OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(parent, MPI_GROUP_NULL, 0, &comm));
    FAILS(MPI_ERR_TAG, MPI_Comm_create_group(parent, world, -5, &comm));
    OK(MPI_Comm_free(&parent));
}

/* Many, made and freed. */
static void many(void)
{
    MPI_Group groups[50], group;
    int i, pass;

    for (pass = 0; pass < 10; pass++) {
        for (i = 0; i < 50; i++) {
            int rank = i % check_size;

            OK(MPI_Group_incl(world, 1, &rank, &groups[i]));
        }
        for (i = 0; i < 50; i++) {
            int rank = i % check_size;

            check_members(groups[i], 1, &rank);
            OK(MPI_Group_free(&groups[i]));
        }
    }
    for (i = 0; i < 100; i++) {
        OK(MPI_Comm_group(MPI_COMM_SELF, &group));
        OK(MPI_Group_free(&group));
    }
}

/* More groups of the same members than there can be groups of different ones: each lives until it is freed itself. */
static void same_members(void)
{
    enum { TIMES = 5000 };
    MPI_Group last, group, copy;
    int i, one = check_size - 1;

    OK(MPI_Group_incl(world, 1, &one, &last));
    for (i = 0; i < TIMES; i++)
        OK(MPI_Group_incl(world, 1, &one, &group));
    for (i = 0; i < TIMES; i++) {
        group = last;
        OK(MPI_Group_free(&group));
    }
    check_members(last, 1, &one);
    copy = last;
    OK(MPI_Group_free(&last));
    if (!IS_MPICH) { /* It does not look whether a group is freed already. */
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_GROUP, MPI_Group_size(copy, &i));
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    }
    for (i = 0; i < TIMES; i++) /* As programs do that free none of them. */
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Group_compare(world, group, &i));
    CHECK(i == MPI_IDENT);
}

int main(int argc, char **argv)
{
    int result;
    MPI_Group self;

    check_start(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_group(MPI_COMM_SELF, &self));
    check_members(self, 1, &check_rank);
    OK(MPI_Group_compare(world, self, &result));
    CHECK(result == (check_size == 1 ? MPI_IDENT : MPI_UNEQUAL));
    OK(MPI_Group_free(&self));
    algebra();
    communicators();
    if (!IS_MPICH) /* It crashes in MPI_Comm_create_group of some of them. */
        by_members_alone();
    mistakes();
    many();
    OK(MPI_Group_free(&world));
    return check_end("conf_group");
}
