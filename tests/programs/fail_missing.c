/* Calls a function of MPI that Midplane does not have. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Publish_name("service", MPI_INFO_NULL, "port");
    MPI_Finalize();
    return 0;
}
