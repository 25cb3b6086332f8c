/* Decimal digits of numbers that are written and read, on any board: the same as of every C library that converts exactly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* Whether a conversion prints this: its digits are rounded once, from the exact value (C17 7.21.6.1 and F.5). */
static int prints(const char *format, double value, const char *wanted)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    if (strcmp(text, wanted) != 0)
        printf("%s of %a is %s, not %s\n", format, value, text, wanted);
    return strcmp(text, wanted) == 0;
}

static int check_output(void)
{
    static const struct {
        const char *format;
        double value;
        const char *wanted;
    } cases[] = {
        {"%.0f", 0.45, "0"}, {"%.0f", 0.5, "0"}, {"%.0f", 1.5, "2"}, {"%.0f", 2.5, "2"},
        {"%.0f", 0.49999999999999994, "0"}, {"%.1f", 0.25, "0.2"}, {"%.1f", 0.35, "0.3"}, {"%.2f", 0.125, "0.12"},
        {"%.2f", 1.005, "1.00"}, {"%.2f", 2.675, "2.67"}, {"%.1f", 0.45, "0.5"}, {"%.1f", 9.95, "9.9"},
        {"%.3f", 1.0005, "1.000"}, {"%.1f", 1e15 + 0.3, "1000000000000000.2"}, {"%.0f", 1e23, "99999999999999991611392"},
        {"%.2f", 123456789012345680.0, "123456789012345680.00"}, {"%.17g", 0.1, "0.10000000000000001"},
        {"%.17g", 1.0 / 3, "0.33333333333333331"}, {"%.16e", 0.1, "1.0000000000000001e-01"},
        {"%.20f", 0.1, "0.10000000000000000555"}, {"%.6g", 100000.5, "100000"}, {"%.3e", 2.5e-5, "2.500e-05"},
        {"%.0e", 2500.0, "2e+03"}, {"%g", 0.0001, "0.0001"}, {"%g", 123456789.0, "1.23457e+08"}, {"%.15g", 0.3, "0.3"},
        {"%.16g", 0.3, "0.3"}, {"%.2f", 0.375, "0.38"}, {"%.2f", 0.995, "0.99"}, {"%6.2f", 99.995, "100.00"},
        {"%.3f", 0.0005, "0.001"}, {"%.3f", 0.00049, "0.000"}, {"%.1f", 0.04999, "0.0"}, {"%.2f", 0.004999, "0.00"},
        {"%.4f", 3.00004999, "3.0000"}, {"%.4f", 0.99994999, "0.9999"}, {"%a", 1.5, "0x1.8p+0"}, {"%.0a", 1.5, "0x2p+0"},
        {"%-8.1E|", -1e300, "-1.0E+300|"}, {"%+08.1f", 2.0, "+00002.0"}, {"%08f", INFINITY, "     inf"},
    };
    size_t i;
    int failed = 0;

    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        failed += !prints(cases[i].format, cases[i].value, cases[i].wanted);
    return failed;
}

/* Whether a text is read as this number. */
static int reads(const char *text, double wanted)
{
    double scanned = -1, converted = strtod(text, NULL);

    if (sscanf(text, "%lf", &scanned) == 1 && scanned == wanted && converted == wanted)
        return 1;
    printf("%s is %a by sscanf and %a by strtod, not %a\n", text, scanned, converted, wanted);
    return 0;
}

static int check_input(void)
{
    static const struct {
        const char *text;
        double wanted;
    } cases[] = {
        {"0.1", 0x1.999999999999ap-4}, {"1e23", 0x1.52d02c7e14af6p+76}, {"9007199254740993", 0x1p53},
        {"9007199254740993.00000000000000000001", 0x1.0000000000001p53}, {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"4.9e-324", 0x1p-1074}, {"1.7976931348623157e308", 0x1.fffffffffffffp1023}, {"-0x1.8p3", -12}, {"inf", INFINITY},
        {"5e-324", 0x1p-1074}, {"0.30000000000000004", 0x1.3333333333334p-2},
    };
    size_t i;
    int failed = 0;

    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        failed += !reads(cases[i].text, cases[i].wanted);
    return failed;
}

int main(int argc, char **argv)
{
    int rank, failed;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    failed = check_output() + check_input();
    printf("digits: %d failed\n", failed);
    MPI_Finalize();
    return failed != 0;
}
