/* Arguments come as they were given, whatever is in them; argv[argc] is NULL; MPI_Init takes NULL. The last rank prints
   them, each byte that is no letter as a number, and the variable V. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    const unsigned char *p;
    int rank, size, i;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        for (i = 1; i < argc; i++) {
            printf("%d:", i);
            for (p = (unsigned char *)argv[i]; *p; p++) printf(*p < 33 || *p > 126 ? "\\%02x" : "%c", *p);
            printf("\n");
        }
        printf("end %s, V=%s\n", argv[argc] ? "no" : "NULL", getenv("V") ? getenv("V") : "-");
    }
    MPI_Finalize();
    return 0;
}
