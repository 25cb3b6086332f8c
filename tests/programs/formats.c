/* printf's and scanf's families, and strtod's: random conversions from a seed, whose texts and values are summed up.
 *
 *     formats [COUNT [SEED [lines]]]
 *
 * The sums are the same wherever the C library converts exactly; with `lines`, rank 0 shows each text instead. Of `long double`
 * only numbers are drawn that x86-64's has, too, and no %La, which is normalized differently there. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <mpi.h>

#include "draw.h"

enum { ROOM = 8192 };

static uint64_t sum = 14695981039346656037u;
static int shows_lines;

static void add(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;

    while (length-- > 0)
        sum = (sum ^ *byte++) * 1099511628211u;
}

static uint64_t bits(void)
{
    uint64_t high = own(1u << 31), middle = own(1u << 31), low = own(1u << 11);

    return (high << 33 ^ middle << 11 ^ low) >> own(64);
}

/* Random bits, short decimals, numbers half way between two of few digits, powers of ten, and what is special. */
static double number(void)
{
    static const double special[] = {0, 1, 9.5, 0.5, 99.8, DBL_MAX, DBL_MIN, DBL_EPSILON};
    double sign = own(2) ? -1 : 1, value;
    uint64_t random = bits();

    switch (own(8)) {
    case 0:
    case 1:
        random = (uint64_t)own(1u << 31) << 33 | random >> 31;
        memcpy(&value, &random, sizeof value);
        return value;
    case 2:
        return sign * own(100000) / 1000;
    case 3:
        value = own(1 << 24);
        return sign * value / (1 << own(20));
    case 4:
        return sign * (double)random / 2;
    case 5:
        return sign * ldexp((double)random, (int)own(2200) - 1100);
    case 6:
        return own(9) ? sign * own(1000) / 100 : sign * INFINITY;
    default:
        return sign * special[own(sizeof special / sizeof *special)];
    }
}

/* A number with as many bits as x86-64's. */
static long double long_number(void)
{
    uint64_t random = bits();
    int most = own(10) ? 100 : 16000, exponent = (int)own(2 * (unsigned)most) - most, sign = own(2) ? -1 : 1;

    if (own(4) == 0)
        return number();
    return sign * ldexpl((long double)random, exponent);
}

/* What a call has made of a text, with its result. */
static void text(const char *format, const char *made, int result)
{
    int failed = result < 0;

    add(format, strlen(format));
    add(&failed, sizeof failed);
    if (failed)
        return;
    add(made, strlen(made));
    add(&result, sizeof result);
    if (shows_lines)
        printf("%s: %d: <%s>\n", format, result, made);
}

static const char *pick(const char *const *names, unsigned count)
{
    return names[own(count)];
}

#define PICK(...) pick((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Flags, width and precision; as many asterisks as are returned. */
static int field(char *format)
{
    static const char *const flags[] = {"-", "+", " ", "#", "0", "'"};
    int stars = 0, most = own(50) ? 30 : 1200;
    unsigned i;

    strcpy(format, "<%");
    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        if (own(5) == 0)
            strcat(format, flags[i]);
    for (i = 0; i < 2; i++)
        switch (own(4)) {
        case 0:
            sprintf(format + strlen(format), "%s%d", i ? "." : "", (int)own((unsigned)most));
            break;
        case 1:
            strcat(format, i ? ".*" : "*");
            stars++;
            break;
        }
    return stars;
}

/* The value is drawn before the call: in which order a call's arguments are is not said. */
#define PRINT(type, drawn)                                              \
    do {                                                                \
        type value = (drawn);                                           \
        result = stars == 0   ? snprintf(made, room, format, value)     \
                 : stars == 1 ? snprintf(made, room, format, a, value)  \
                              : snprintf(made, room, format, a, b, value); \
    } while (0)

static void print(void)
{
    static char made[ROOM];
    char format[64];
    int stars = field(format), result, a = (int)own(40) - 10, b = (int)own(30) - 5;
    size_t room = own(8) ? sizeof made : 1 + own(20);

    memset(made, 0, 32);
    switch (own(10)) {
    case 0:
        strcat(format, PICK("d", "i", "u", "x", "X", "o", "hhd", "hd", "hhu", "hx"));
        PRINT(int, (int)bits());
        break;
    case 1:
        strcat(format, PICK("ld", "li", "lu", "lx", "zu", "td", "jd", "lo"));
        PRINT(long, (long)bits());
        break;
    case 2:
        strcat(format, PICK("lld", "llu", "llx", "llo"));
        PRINT(long long, (long long)bits());
        break;
    case 3:
        strcat(format, "s|%%");
        PRINT(const char *, PICK("", "a", "some words", "\xe2\x82\xac", "longer than most fields are"));
        break;
    case 4:
        strcat(format, PICK("ls", "S"));
        PRINT(const wchar_t *, own(2) ? L"wide words" : own(2) ? L"" : L"caf\xe9");
        break;
    case 5:
        if (own(2)) {
            strcat(format, "c");
            PRINT(int, (int)(1 + own(255)));
        } else {
            strcat(format, "p");
            PRINT(void *, (void *)(uintptr_t)bits());
        }
        break;
    case 6:
        strcat(format, PICK("Lf", "Le", "Lg", "LE", "LG", "LF"));
        PRINT(long double, long_number());
        break;
    default:
        strcat(format, PICK("f", "e", "g", "a", "F", "E", "G", "A", "lf"));
        PRINT(double, number());
        break;
    }
    text(format, made, result);
}

/* Arguments by number; wide texts; a text whose length is stored. */
static void other_ways(void)
{
    static wchar_t wide[ROOM];
    static char made[ROOM];
    int length = 0, result, a = (int)own(30), b = (int)own(20), c = (int)own(99999), d = (int)own(20);
    double value = number();
    size_t i;

    result = snprintf(made, sizeof made, "%2$s %1$.*3$f%5$n %4$Lg", value, "words", a, (long double)value, &length);
    text("numbered", made, result);
    add(&length, sizeof length);
    result = swprintf(wide, sizeof wide / sizeof *wide, L"%ls|%s|%*d|%.*g|%lc", L"\x20ac", "narrow", b, c, d, value, (wint_t)L'x');
    for (i = 0; i <= (size_t)result; i++)
        made[i] = (char)(wide[i] > 127 ? '?' : wide[i]);
    text("wide", made, result);
}

/* The text of a number, often with a fault. */
static void draw_number(char *out)
{
    unsigned i, digits = own(40) ? own(25) : own(900), point = own(25);
    int exponent = (int)own(own(2) ? 40 : 800);
    uint64_t whole = bits(), fraction = bits();
    char *start = out;

    exponent -= (int)own(400);
    out += sprintf(out, "%s", PICK("", "-", "+", " \t"));
    switch (own(8)) {
    case 0:
        out += sprintf(out, "0x%llx.%llxp%d", (unsigned long long)whole, (unsigned long long)fraction, exponent);
        break;
    case 1:
        out += sprintf(out, "%.1100f", number());
        break;
    case 2:
        out += sprintf(out, "%s", PICK("inf", "INFINITY", "nan", "nan(12)", "infinit", "0x", "", "-", "."));
        break;
    default:
        for (i = 0; i < digits; i++) {
            if (i == point)
                *out++ = '.';
            *out++ = (char)('0' + own(10));
        }
        out += sprintf(out, "e%d", exponent);
    }
    *out = 0;
    if (own(8) == 0 && out > start) {
        i = own((unsigned)(out - start));
        start[i] = ".ex+ 0z"[own(7)];
    }
}

static void read_numbers(void)
{
    static char input[ROOM];
    double d;
    float f;
    char *end;
    int range;

    draw_number(input);
    errno = 0;
    d = strtod(input, &end);
    range = errno == ERANGE;
    /* What the sign of a NaN is depends on the machine, and some libraries lose a bit of hexadecimal subnormal numbers. */
    if (isnan(d))
        d = 1;
    if (strpbrk(input, "xX") != NULL && fabs(d) < 1e-30)
        return;
    add(&d, sizeof d);
    add(&range, sizeof range);
    range = (int)(end - input);
    add(&range, sizeof range);
    if (shows_lines)
        printf("<%.60s>: %a, %d\n", input, d, range);
    f = strtof(input, NULL);
    if (!isnan(f))
        add(&f, sizeof f);
    /* Exact in every format. */
    d = number();
    if (isfinite(d)) {
        snprintf(input, sizeof input, "%.1100f", d);
        d = (double)strtold(input, NULL);
        add(&d, sizeof d);
    }
}

static void scan(void)
{
    static char input[ROOM], words[ROOM];
    wchar_t wide[64] = L"";
    double d = 7;
    float f = 7;
    long double l = 7;
    long long n = 7;
    int i = 7, count = -1, result;
    char *made = NULL, c[8] = "";

    draw_number(input);
    result = sscanf(input, PICK("%lf%n", "%5lf%n", "%le %n", "%12lg%n"), &d, &count);
    if (isnan(d))
        d = 1;
    if (strpbrk(input, "xX") == NULL || fabs(d) > 1e-30)
        add(&d, sizeof d);
    add(&result, sizeof result);
    add(&count, sizeof count);
    if (shows_lines)
        printf("<%.60s>: %d, %a, %d\n", input, result, d, count);
    n = (long long)bits();
    i = (int)own(1 << 20);
    snprintf(input, sizeof input, "%lld %#x %.9g words[%d] -%x,%Lg", n, (unsigned)i, (double)i / 3, i % 100, (unsigned)i,
             (long double)i / 16);
    result = sscanf(input, PICK("%lld %i %f %7[a-z]%3c%n", "%lld%i%f %7[^]]%1c%n", "%5lld %x %4f %[^,]%2c%n"), &n, &i, &f, words, c,
                    &count);
    add(&n, sizeof n);
    add(&i, sizeof i);
    add(&f, sizeof f);
    if (result > 3)
        add(words, strlen(words));
    add(c, sizeof c);
    add(&result, sizeof result);
    add(&count, sizeof count);
    result = sscanf(input, "%*[^w]%m[a-z]%*[^,],%Lf%n", &made, &l, &count);
    d = (double)l;
    add(&d, sizeof d);
    if (made != NULL)
        add(made, strlen(made));
    free(made);
    result += sscanf(input, "%60ls%n", wide, &count);
    add(&result, sizeof result);
    add(&count, sizeof count);
    i = (int)wcslen(wide);
    add(&i, sizeof i);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    int rank;
    long i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shows_lines = argc > 3 && rank == 0;
    plan_state = seed;
    own_state = seed * 1000003 + (unsigned)rank;
    for (i = 0; i < count; i++)
        switch (plan(8)) {
        case 0:
            other_ways();
            break;
        case 1:
            read_numbers();
            break;
        case 2:
            scan();
            break;
        default:
            print();
        }
    printf("formats: %ld conversions, sum %016llx\n", count, (unsigned long long)sum);
    MPI_Finalize();
    return 0;
}
