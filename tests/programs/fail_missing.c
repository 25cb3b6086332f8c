/* Calls a function of MPI that Midplane does not have. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Datatype column;

    MPI_Init(&argc, &argv);
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Finalize();
    return 0;
}
