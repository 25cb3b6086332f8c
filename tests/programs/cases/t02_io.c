/* Rank 0 reads all of its standard input, whatever bytes and however many, and sees its end; the others see the end at
   once. Each prints how many bytes it has read and a sum of them. Any number of ranks. */
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    static char bytes[5000];
    unsigned long count = 0, sum = 1;
    size_t n, i;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while ((n = fread(bytes, 1, sizeof bytes, stdin)) > 0) {
        for (i = 0; i < n; i++) sum = (sum * 31 + (unsigned char)bytes[i]) % 1000003;
        count += n;
    }
    printf("%lu bytes, sum %lu, end %d\n", count, sum, feof(stdin) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
