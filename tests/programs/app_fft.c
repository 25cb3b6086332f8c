/* Fourier transform of a square: rows are divided among the processes, columns come by a transposition that an
 * alltoall with derived datatypes does without packing. Single waves have single peaks, and back is where it began. */
#include "check.h"

#include <complex.h>
#include <math.h>

typedef double complex Value;

static int side, rows;

/* Sum of a[k] e^(sign 2 pi i j k / side) for each j, by the definition. */
static void transform_row(Value *row, Value *room, int sign)
{
    int j, k;

    for (j = 0; j < side; j++) {
        room[j] = 0;
        for (k = 0; k < side; k++)
            room[j] += row[k] * cexp(sign * 2 * acos(-1) * I * ((long)j * k % side) / side);
    }
    memcpy(row, room, sizeof(Value) * (size_t)side);
}

/* Rows become columns. `block` is the part of each row that one process gets, by columns. */
static void transpose(const Value *from, Value *to, MPI_Datatype block, MPI_Datatype square)
{
    OK(MPI_Alltoall(from, 1, block, to, 1, square, MPI_COMM_WORLD));
}

static void transform(Value *data, Value *other, Value *room, int sign, MPI_Datatype block, MPI_Datatype square)
{
    int y;

    for (y = 0; y < rows; y++)
        transform_row(data + y * side, room, sign);
    transpose(data, other, block, square);
    for (y = 0; y < rows; y++)
        transform_row(other + y * side, room, sign);
    transpose(other, data, block, square);
}

int main(int argc, char **argv)
{
    MPI_Datatype column, columns, block, part, square;
    Value *data, *other, *room;
    double worst = 0, peak = 0;
    int x, y;

    check_start(&argc, &argv);
    rows = check_size > 8 ? 1 : 3;
    side = rows * check_size;
    data = check_room(sizeof(Value) * (size_t)(rows * side));
    other = check_room(sizeof(Value) * (size_t)(rows * side));
    room = check_room(sizeof(Value) * (size_t)side);
    /* Read: the block for a process, column by column. Written: as rows, which begin where its columns were. */
    OK(MPI_Type_vector(rows, 1, side, MPI_C_DOUBLE_COMPLEX, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(Value), &columns));
    OK(MPI_Type_contiguous(rows, columns, &block));
    OK(MPI_Type_commit(&block));
    OK(MPI_Type_vector(rows, rows, side, MPI_C_DOUBLE_COMPLEX, &part));
    OK(MPI_Type_create_resized(part, 0, (MPI_Aint)(rows * (int)sizeof(Value)), &square));
    OK(MPI_Type_commit(&square));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&columns));
    OK(MPI_Type_free(&part));

    for (y = 0; y < rows; y++)
        for (x = 0; x < side; x++)
            data[y * side + x] = cexp(2 * acos(-1) * I * ((2.0 * x + 1.0 * (check_rank * rows + y)) / side));
    transform(data, other, room, -1, block, square);
    for (y = 0; y < rows; y++)
        for (x = 0; x < side; x++) {
            /* The wave has number 1 in y, 2 in x. */
            int is_peak = (check_rank * rows + y) % side == 1 % side && x == 2 % side;

            worst = fmax(worst, cabs(data[y * side + x] - (is_peak ? side * side : 0)));
            peak = fmax(peak, cabs(data[y * side + x]));
        }
    OK(MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    CHECK(worst < 1e-9 * side * side && fabs(peak - side * side) < 1e-9 * side * side);
    transform(data, other, room, 1, block, square);
    for (worst = 0, y = 0; y < rows; y++)
        for (x = 0; x < side; x++) {
            Value was = cexp(2 * acos(-1) * I * ((2.0 * x + 1.0 * (check_rank * rows + y)) / side));

            worst = fmax(worst, cabs(data[y * side + x] / (side * side) - was));
        }
    CHECK(worst < 1e-9);
    OK(MPI_Type_free(&block));
    OK(MPI_Type_free(&square));
    free(data);
    free(other);
    free(room);
    return check_end("app_fft");
}
