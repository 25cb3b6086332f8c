/* Fails on purpose: rank 0 does not check what malloc gives, and has the C library go through it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

static size_t volatile length_seen;

static char *make(size_t bytes)
{
    return malloc(bytes);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "memset";
    char *block;

    MPI_Init(&argc, &argv);
    block = make((size_t)1 << 40);
    if (strcmp(how, "memset") == 0)
        memset(block, 1, 100 + (size_t)argc);
    else if (strcmp(how, "strlen") == 0)
        length_seen = strlen(block);
    else if (strcmp(how, "sscanf") == 0)
        sscanf("12", "%d", (int *)block);
    else
        sprintf(block, "%s is written\n", how);
    printf("%s", block);
    MPI_Finalize();
    return 0;
}
