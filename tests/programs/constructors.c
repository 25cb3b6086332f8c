/* What runs before `main` and after it runs in each process, as this process: it prints, allocates, counts, and may end
 * MPI. With LATE it is a destructor that does, with EXIT an end in the middle; with KEPT a library has a variable. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KEPT
extern int kept;
#endif

static int counted = 1;
static char *memory, *arguments;

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
    counted++;
    memory = malloc(10);
    memory[0] = 'm';
    arguments = strdup(argc > 1 ? argv[1] : "none");
    printf("begin %s %d\n", arguments, envp != NULL);
}

__attribute__((constructor(200))) static void begin_before(void)
{
    counted *= 10;
    printf("before %d\n", counted);
}

__attribute__((destructor)) static void end(void)
{
#ifdef LATE
    MPI_Finalize();
#endif
    printf("end %d %c\n", counted, memory[0]);
}

__attribute__((destructor(200))) static void end_after(void)
{
    counted++;
    printf("after %d\n", counted);
}

static void at_the_end(void)
{
    counted++;
    printf("handler %d\n", counted);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    atexit(at_the_end);
    counted += 100 * rank;
    memory[0] = (char)('a' + rank);
#ifdef KEPT
    kept += rank;
    MPI_Barrier(MPI_COMM_WORLD);
    printf("kept %d\n", kept);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
    printf("main %d %c\n", counted, memory[0]);
#ifndef LATE
    MPI_Finalize();
#endif
#ifdef EXIT
    exit(0);
#endif
    return 0;
}
