/* How a job ends when one rank ends in its own way while the others are in a barrier: t04_exit HOW. The job ends by
   itself, with the status of that rank; a line without an end that it has printed comes out. 2 ranks or more. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define is(what) (strcmp(how, what) == 0)
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        printf("before");
        if (is("exit3")) exit(3);
        if (is("exit0")) exit(0);
        if (is("abort7")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (is("abort0")) MPI_Abort(MPI_COMM_WORLD, 0);
        if (is("abort256")) MPI_Abort(MPI_COMM_WORLD, 256);
        if (is("abort-1")) MPI_Abort(MPI_COMM_WORLD, -1);
        if (is("abortself")) MPI_Abort(MPI_COMM_SELF, 9);
        if (is("abort")) abort();
        if (is("segv")) *(volatile int *)8 = 1;
        if (is("kill")) raise(SIGKILL);
        if (is("_exit5")) _Exit(5);
        if (is("return4")) return 4;
        if (is("finalize6")) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Finalize();
            return 6;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
