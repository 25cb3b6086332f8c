/* Lines come whole and in order, with characters of several bytes wherever the output is cut into pieces, long lines and
   quick bursts. Any number of ranks. */
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    static const char *const characters[] = { "\xe2\x82\xac", "\xf0\x9f\x98\x80", "x" };
    int rank, i, k;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i < 12; i++) {
        printf("%d:%d:", rank, i);
        for (k = 0; k < 40 + 7 * i; k++) printf("%s", characters[k % 3]);
        printf(":end\n");
    }
    MPI_Finalize();
    return 0;
}
