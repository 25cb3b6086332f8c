/* Makes a communicator in one way, and nothing else: for what it takes in messages. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, extents[3] = {0, 0, 0}, periods[3] = {1, 1, 1}, keep[3] = {1, 0, 1}, ends = 0;
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Comm made = MPI_COMM_NULL, part;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, extents);
    if (strcmp(way, "duplicate") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    } else if (strcmp(way, "grid") == 0) {
        MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periods, 0, &made);
    } else if (strcmp(way, "placed") == 0) {
        MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periods, 1, &made);
    } else if (strcmp(way, "smaller") == 0) {
        extents[0] = size - 1;
        MPI_Cart_create(MPI_COMM_WORLD, 1, extents, periods, 1, &made);
    } else if (strcmp(way, "planes") == 0) {
        MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periods, 1, &part);
        MPI_Cart_sub(part, keep, &made);
    } else if (strcmp(way, "graph") == 0) {
        MPI_Graph_create(MPI_COMM_WORLD, 1, &ends, &ends, 1, &made);
    } else if (strcmp(way, "split") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &made);
    } else {
        fprintf(stderr, "no such way\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
