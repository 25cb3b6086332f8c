/* Calls functions that link and are not supported, behind calls that the linker makes shorter: the line of each is to
 * be right, and what is never called is not to be named. */
#include <mpi.h>
#include <stdio.h>

void never_called(void)
{
    MPI_Close_port("never");
}

int main(int argc, char **argv)
{
    int rank, class, length;
    char text[MPI_MAX_ERROR_STRING];
    char port[MPI_MAX_PORT_NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Open_port(MPI_INFO_NULL, port), &class);
    MPI_Error_string(class, text, &length);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d %s\n", class == MPI_ERR_UNSUPPORTED_OPERATION, text);
        PMPI_Unpublish_name("name", MPI_INFO_NULL, port);
    }
    MPI_Finalize();
    return 0;
}
