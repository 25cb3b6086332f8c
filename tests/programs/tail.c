/* What of a message is in its sender's router when MPI_Send ends goes on to the receiver, although the sender calls
 * nothing more: each time it waits outside of MPI until the receiver has all of it, which says so by a signal.
 *
 * Two processes on one machine. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1 << 18, ROUNDS = 50 };

static char data[BYTES];
static volatile sig_atomic_t received;

static void note(int number)
{
    (void)number;
    received++;
}

int main(int argc, char **argv)
{
    int rank, round, pid = (int)getpid();

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    signal(SIGUSR1, note);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (round = 1; round <= ROUNDS; round++) {
        if (rank == 0) {
            MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            while (received < round)
                usleep(1000);
        } else {
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            kill(pid, SIGUSR1);
        }
    }
    if (rank == 0)
        puts("all received");
    MPI_Finalize();
    return 0;
}
