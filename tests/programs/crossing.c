/* Neighbours in a ring send each other short messages before either receives, again and again, and one that is ahead of
 * the others: nothing in the standard says that this ends (MPI-3.1 section 3.5), but programs do it.
 *
 *     crossing [ROUNDS]     (default: 2000)
 */
#include "check.h"

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 2000, i, side;

    check_start(&argc, &argv);
    for (i = 0; i < rounds; i++)
        for (side = 0; side < 2; side++) {
            int there = (check_rank + 1) % check_size, back = (check_rank + check_size - 1) % check_size;
            double out[2] = {i, check_rank}, in[2][2];

            OK(MPI_Send(&out, 2, MPI_DOUBLE, back, side, MPI_COMM_WORLD));
            OK(MPI_Send(&out, 2, MPI_DOUBLE, there, side, MPI_COMM_WORLD));
            OK(MPI_Recv(in[0], 2, MPI_DOUBLE, there, side, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Recv(in[1], 2, MPI_DOUBLE, back, side, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            check_failed += in[0][0] != i || in[0][1] != there || in[1][0] != i || in[1][1] != back;
        }
    return check_end("crossing");
}
