/* Calls functions that link and are not supported, behind calls that the linker makes shorter: the line of each is to
 * be right, and what is never called is not to be named. */
#include <mpi.h>
#include <stdio.h>

void never_called(void)
{
    MPI_Win_fence(0, MPI_WIN_NULL);
}

int main(int argc, char **argv)
{
    int rank, class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Win_create(0, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), &class);
    MPI_Error_string(class, text, &length);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d %s\n", class == MPI_ERR_UNSUPPORTED_OPERATION, text);
        PMPI_Win_free(&win);
    }
    MPI_Finalize();
    return 0;
}
