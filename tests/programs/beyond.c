/* Calls that would reach beyond a rank where all ranks are in one process: the one that the argument names. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void *nothing(void *of)
{
    return of;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    char *words[] = {argv[0], NULL};
    struct itimerval second = {{1, 0}, {1, 0}};
    pthread_t thread;
    timer_t timer;
    sigset_t none;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        sigemptyset(&none);
        if (strcmp(name, "pthread_create") == 0)
            pthread_create(&thread, NULL, nothing, NULL);
        if (strcmp(name, "fork") == 0)
            fork();
        if (strcmp(name, "execv") == 0)
            execv("/bin/true", words);
        if (strcmp(name, "setsid") == 0)
            setsid();
        if (strcmp(name, "setgid") == 0 && setgid(getgid()) == 0)
            printf("as before\n");
        if (strcmp(name, "dlopen") == 0)
            dlopen("libz.so.1", RTLD_NOW);
        if (strcmp(name, "timer_create") == 0)
            timer_create(CLOCK_REALTIME, NULL, &timer);
        if (strcmp(name, "setitimer") == 0)
            setitimer(ITIMER_PROF, &second, NULL);
        if (strcmp(name, "pause") == 0)
            pause();
        if (strcmp(name, "sigsuspend") == 0)
            sigsuspend(&none);
        if (strcmp(name, "sigset") == 0)
            sighold(SIGUSR1);
        if (strcmp(name, "kill") == 0)
            kill(0, SIGTERM);
        if (strcmp(name, "getpwent") == 0)
            getpwent();
        if (strcmp(name, "mmap") == 0)
            mmap((void *)0x10000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    MPI_Finalize();
    return 0;
}
