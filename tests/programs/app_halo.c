/* Halo exchange in three dimensions with subarrays on a periodic Cartesian grid: a stencil over integers, compared
 * with the same computed by one process alone. */
#include "check.h"

enum { EDGE = 3, STEPS = 4 };

typedef unsigned long long Cell;

static int dims[3], coords[3], whole[3];

static Cell first_value(int x, int y, int z)
{
    return 1 + (Cell)x * 1000003u + (Cell)y * 7919u + (Cell)z * 31u;
}

/* The cell's index in an array of `n` cells a side and a halo of one. */
static int at(const int n[3], int x, int y, int z)
{
    return (x * (n[1] + 2) + y) * (n[2] + 2) + z;
}

static void stencil(const int n[3], const Cell *from, Cell *to)
{
    int x, y, z;

    for (x = 1; x <= n[0]; x++)
        for (y = 1; y <= n[1]; y++)
            for (z = 1; z <= n[2]; z++)
                to[at(n, x, y, z)] = 2 * from[at(n, x, y, z)] + from[at(n, x - 1, y, z)] + 3 * from[at(n, x + 1, y, z)]
                    + 5 * from[at(n, x, y - 1, z)] + 7 * from[at(n, x, y + 1, z)] + 11 * from[at(n, x, y, z - 1)]
                    + 13 * from[at(n, x, y, z + 1)];
}

/* The halo of one process that has everything is the other side of its own cells. */
static void wrap(const int n[3], Cell *cells)
{
    int x, y, z;

    for (x = 0; x < n[0] + 2; x++)
        for (y = 0; y < n[1] + 2; y++)
            for (z = 0; z < n[2] + 2; z++)
                cells[at(n, x, y, z)] =
                    cells[at(n, (x + n[0] - 1) % n[0] + 1, (y + n[1] - 1) % n[1] + 1, (z + n[2] - 1) % n[2] + 1)];
}

/* The layer of cells to give to, or to take from, the neighbour on one side. */
static MPI_Datatype layer(const int n[3], int dimension, int start)
{
    int sizes[3], parts[3], starts[3], i;
    MPI_Datatype type;

    for (i = 0; i < 3; i++) {
        sizes[i] = n[i] + 2;
        parts[i] = i == dimension ? 1 : n[i];
        starts[i] = i == dimension ? start : 1;
    }
    OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_UNSIGNED_LONG_LONG, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static void exchange(MPI_Comm grid, Cell *cells, MPI_Datatype types[3][4])
{
    MPI_Request requests[12];
    int d, count = 0;

    for (d = 0; d < 3; d++) {
        int below, above;

        OK(MPI_Cart_shift(grid, d, 1, &below, &above));
        OK(MPI_Irecv(cells, 1, types[d][0], below, 2 * d, grid, &requests[count++]));
        OK(MPI_Irecv(cells, 1, types[d][3], above, 2 * d + 1, grid, &requests[count++]));
        OK(MPI_Isend(cells, 1, types[d][1], below, 2 * d + 1, grid, &requests[count++]));
        OK(MPI_Isend(cells, 1, types[d][2], above, 2 * d, grid, &requests[count++]));
    }
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

static Cell *new_cells(const int n[3])
{
    size_t bytes = sizeof(Cell) * (size_t)(n[0] + 2) * (size_t)(n[1] + 2) * (size_t)(n[2] + 2);
    Cell *cells = check_room(bytes);

    memset(cells, 0, bytes);
    return cells;
}

static void swap(Cell **one, Cell **other)
{
    Cell *kept = *one;

    *one = *other;
    *other = kept;
}

int main(int argc, char **argv)
{
    static const int mine[3] = {EDGE, EDGE + 1, EDGE + 2};
    int periods[3] = {1, 1, 1}, d, step, x, y, z, wrong = 0;
    MPI_Datatype types[3][4];
    Cell *now, *next, *all, *all_next;
    MPI_Comm grid;

    check_start(&argc, &argv);
    OK(MPI_Dims_create(check_size, 3, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &grid));
    OK(MPI_Cart_get(grid, 3, dims, periods, coords));
    for (d = 0; d < 3; d++) {
        whole[d] = dims[d] * mine[d];
        types[d][0] = layer(mine, d, 0);
        types[d][1] = layer(mine, d, 1);
        types[d][2] = layer(mine, d, mine[d]);
        types[d][3] = layer(mine, d, mine[d] + 1);
    }
    now = new_cells(mine);
    next = new_cells(mine);
    all = new_cells(whole);
    all_next = new_cells(whole);
    for (x = 1; x <= whole[0]; x++)
        for (y = 1; y <= whole[1]; y++)
            for (z = 1; z <= whole[2]; z++)
                all[at(whole, x, y, z)] = first_value(x, y, z);
    for (x = 1; x <= mine[0]; x++)
        for (y = 1; y <= mine[1]; y++)
            for (z = 1; z <= mine[2]; z++)
                now[at(mine, x, y, z)] =
                    first_value(coords[0] * mine[0] + x, coords[1] * mine[1] + y, coords[2] * mine[2] + z);
    for (step = 0; step < STEPS; step++) {
        exchange(grid, now, types);
        stencil(mine, now, next);
        swap(&now, &next);
        wrap(whole, all);
        stencil(whole, all, all_next);
        swap(&all, &all_next);
        for (x = 1; x <= mine[0]; x++)
            for (y = 1; y <= mine[1]; y++)
                for (z = 1; z <= mine[2]; z++)
                    wrong += now[at(mine, x, y, z)]
                        != all[at(whole, coords[0] * mine[0] + x, coords[1] * mine[1] + y, coords[2] * mine[2] + z)];
        CHECK(wrong == 0);
    }
    for (d = 0; d < 12; d++)
        OK(MPI_Type_free(&types[d / 4][d % 4]));
    OK(MPI_Comm_free(&grid));
    free(now);
    free(next);
    free(all);
    free(all_next);
    return check_end("app_halo");
}
