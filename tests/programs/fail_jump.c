/* Fails on purpose: calls a function through a null pointer. */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    void (*volatile nowhere)(void) = NULL;

    MPI_Init(&argc, &argv);
    nowhere();
    printf("not reached\n");
    MPI_Finalize();
    return 0;
}
