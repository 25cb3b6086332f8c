/* Does not compile, on purpose: `processes` is never declared. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Finalize();
    return 0;
}
