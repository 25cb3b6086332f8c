/* Messages of 8 bytes from a process to itself, for what counts a process's instructions.
 *
 *     to_self [COUNT [FORM [COMMUNICATOR]]]      (default 1000 send world)
 *
 * FORM: send (MPI_Irecv, MPI_Send, MPI_Wait) or isend (MPI_Irecv, MPI_Isend, MPI_Waitall).
 * COMMUNICATOR: world, or dup (a duplicate of it), or part (all of its processes, by MPI_Comm_split).
 *
 * The instructions of a run less those of a shorter one are those of the messages between. Exit status: 0, or 1 if a
 * message was wrong, or 2 for bad arguments.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *form, *of;
    long count, i;
    int rank, wrong = 0;
    MPI_Comm comm = MPI_COMM_WORLD;

    MPI_Init(&argc, &argv);
    count = argc > 1 ? atol(argv[1]) : 1000;
    form = argc > 2 ? argv[2] : "send";
    of = argc > 3 ? argv[3] : "world";
    if ((strcmp(form, "send") && strcmp(form, "isend")) || (strcmp(of, "world") && strcmp(of, "dup") && strcmp(of, "part")))
        return MPI_Finalize(), 2;
    if (!strcmp(of, "dup"))
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!strcmp(of, "part"))
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    for (i = 0; i < count; i++) {
        long out = i, in = -1;
        MPI_Request requests[2];

        MPI_Irecv(&in, 1, MPI_LONG, rank, 1, comm, &requests[0]);
        if (*form == 's') {
            MPI_Send(&out, 1, MPI_LONG, rank, 1, comm);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Isend(&out, 1, MPI_LONG, rank, 1, comm, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        wrong |= in != i;
    }
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    MPI_Finalize();
    return wrong;
}
