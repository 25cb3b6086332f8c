/* Fails on purpose: calls a function through a null pointer, or at the argument's address; "data" is an address of data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    void (*volatile nowhere)(void) = NULL;
    static char data[64];

    if (argc > 1)
        nowhere = (void (*)(void))(strcmp(argv[1], "data") == 0 ? (size_t)data : strtoul(argv[1], NULL, 0));
    MPI_Init(&argc, &argv);
    nowhere();
    printf("not reached\n");
    MPI_Finalize();
    return 0;
}
