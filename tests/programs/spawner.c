/* Starts two processes of this program, which do what the argument says.
 *
 *     spawner wait|abort|exit|leave|other COMMAND
 *
 * `wait`: all wait forever. `abort`: child 1 calls MPI_Abort with 7. `exit`: child 1 ends with status 3. `leave`: child 1
 * ends without MPI_Finalize. `other`: the command, which need not use MPI. */
#include <stdio.h>
#include <string.h>

#include <mpi.h>

static int child(const char *what, MPI_Comm parent)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("waiting\n");
    fflush(stdout);
    if (rank == 1 && strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && strcmp(what, "leave") == 0)
        return 0;
    if (strcmp(what, "exit") != 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, parent, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return rank == 1 ? 3 : 0;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(argv[1], parent);
    if (argc > 2)
        MPI_Comm_spawn(argv[2], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    else
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    if (strcmp(argv[1], "wait") == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, inter, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
