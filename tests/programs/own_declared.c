/* Names of the program's own beside the headers of the C library and POSIX: picolibc declares these, Linux does not. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <mpi.h>

static double signal[] = {1.5, 2.5}, infinity = 1e300;
static int raise = 2;

static void itoa(int number, char text[])
{
    sprintf(text, "%d", number);
}

static char utoa(unsigned number)
{
    return (char)('0' + number % 10);
}

static void strupr(char *text)
{
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

static void strlwr(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static int gets(int n)
{
    return n + 1;
}

static int fls(long bits)
{
    int last = 0;

    for (; bits != 0; bits >>= 1)
        last++;
    return last;
}

static int iszero(double x)
{
    return fabs(x) < 1e-9;
}

int main(int argc, char **argv)
{
    char text[20];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    itoa(-42, text);
    if (rank == 0)
        printf("%s %c ", text, utoa(37));
    strcpy(text, "Torus");
    strupr(text);
    if (rank == 0)
        printf("%s ", text);
    strlwr(text);
    if (rank == 0)
        printf("%s %d %d %d%d %g %g %d\n", text, gets(1), fls(4), iszero(1e-12), iszero(1.0), signal[0] + signal[1],
               infinity, raise);
    MPI_Finalize();
    return 0;
}
