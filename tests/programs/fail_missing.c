/* Calls a function of MPI that nothing has: neither Midplane nor the program, which declares it. */
#include <mpi.h>

int MPI_Nowhere(MPI_Comm comm);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Nowhere(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
