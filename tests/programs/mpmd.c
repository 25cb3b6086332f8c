/* One of several programs of a job (MPI-3.1 section 8.8). Each rank says which of them it is, its arguments and the
 * variable PART, and all of them add up their numbers. With the argument "fail N" the status is N, with "abort" the job
 * ends so; "lines" is followed by what is printed as it is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, flag, sum, *number, status = 0, used;
    char line[400];
    const char *part = getenv("PART");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    if (!flag) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Allreduce(number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "lines") == 0) {
        if (rank == 0) fwrite(argv[2], 1, strlen(argv[2]), stdout);
        MPI_Finalize();
        return 0;
    }
    used = snprintf(line, sizeof line, "rank %d of %d is of program %d, sum %d, PART %s:", rank, size, *number, sum, part ? part : "none");
    for (int at = 1; at < argc; at++) used += snprintf(line + used, sizeof line - used, " %s", argv[at]);
    puts(line);
    if (argc > 2 && strcmp(argv[1], "fail") == 0) status = atoi(argv[2]);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Finalize();
    return status;
}
