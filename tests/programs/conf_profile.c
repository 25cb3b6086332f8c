/* The profiling interface (section 14.2): a program that defines functions of MPI itself, and calls by PMPI_ what they
 * stand for; and every call that is not defined here by both names. */
#include "check.h"

static int sends, receives, barriers, levels;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receives++;
    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Pcontrol(const int level, ...)
{
    levels += level;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int i, value, rank = -1, size = -1, sum = 0;
    double before;

    check_start(&argc, &argv);
    const int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    for (i = 0; i < 10; i++) {
        if (check_rank % 2 == 0 && check_rank != next)
            OK(MPI_Send(&i, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
        if (check_size % 2 == 0 && check_rank % 2 == 1) {
            OK(MPI_Recv(&value, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i);
        }
    }
    if (check_size % 2 == 0) {
        CHECK(sends == (check_rank % 2 == 0 ? 10 : 0));
        CHECK(receives == (check_rank % 2 == 0 ? 0 : 10));
    } else if (check_rank % 2 == 1 || check_rank == 0) {
        /* An odd ring: what its even ranks sent is still to come. */
        for (i = 0; i < 10 && check_size > 1; i++)
            OK(PMPI_Recv(&value, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(PMPI_Barrier(MPI_COMM_WORLD));
    CHECK(barriers == 1);
    MPI_Pcontrol(3);
    PMPI_Pcontrol(4, "more", 5);
    CHECK(levels == 3);
    /* What is not defined here is the same by either name. */
    OK(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(PMPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(rank == check_rank && size == check_size);
    value = 1;
    OK(PMPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size);
    CHECK((void (*)(void))MPI_Allreduce == (void (*)(void))PMPI_Allreduce);
    before = PMPI_Wtime();
    CHECK(MPI_Wtime() >= before);
    return check_end("conf_profile");
}
