/* External32 (MPI-3.1 section 13.5.2): big-endian IEEE;
   long double is 16 bytes, binary128; MPI_LONG has 4 bytes, MPI_WCHAR 2. Pack, look at the bytes, unpack. 1 rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <wchar.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
static void trip(const char *name, MPI_Datatype t, const void *in, void *out, size_t each, int n, int size, const unsigned char *first)
{
    unsigned char b[512]; MPI_Aint at = 0, from = 0, want = -1; int i;
    memset(out, 0, each * n); memset(b, 0xee, sizeof b);
    MPI_Pack_external_size("external32", n, t, &want);
    CHECK(want == (MPI_Aint)size * n, "%s: size %ld, wanted %d", name, (long)want, size * n);
    MPI_Pack_external("external32", in, n, t, b, sizeof b, &at);
    CHECK(at == (MPI_Aint)size * n, "%s: packed %ld, wanted %d", name, (long)at, size * n);
    CHECK(b[at] == 0xee, "%s: writes behind its end", name);
    if (first && memcmp(b, first, size)) { CHECK(0, "%s: bytes", name); for (i = 0; i < size; i++) printf(" %02x", b[i]); printf("\n"); }
    MPI_Unpack_external("external32", b, at, &from, out, n, t);
    CHECK(from == at, "%s: unpacked %ld", name, (long)from);
}
int main(void)
{
    MPI_Init(NULL, NULL);
    { long double i[3] = { 1, -2.5L, 1e-10L }, o[3]; unsigned char f[16] = { 0x3f, 0xff };
      trip("long double", MPI_LONG_DOUBLE, i, o, sizeof *i, 3, 16, f); CHECK(o[0] == i[0] && o[1] == i[1] && o[2] == i[2], "long double: %g %g %g", (double)o[0], (double)o[1], (double)o[2]); }
    { long i[3] = { 1, -2, 0x12345678 }, o[3]; unsigned char f[4] = { 0, 0, 0, 1 };
      trip("long", MPI_LONG, i, o, sizeof *i, 3, 4, f); CHECK(o[0] == 1 && o[1] == -2 && o[2] == 0x12345678, "long: %ld %ld %ld", o[0], o[1], o[2]); }
    { unsigned long i[2] = { 1, 0xfedcba98 }, o[2]; unsigned char f[4] = { 0, 0, 0, 1 };
      trip("unsigned long", MPI_UNSIGNED_LONG, i, o, sizeof *i, 2, 4, f); CHECK(o[1] == 0xfedcba98, "unsigned long: %lx", o[1]); }
    { long long i[2] = { 0x1122334455667788, -5 }, o[2]; unsigned char f[8] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
      trip("long long", MPI_LONG_LONG, i, o, sizeof *i, 2, 8, f); CHECK(!memcmp(i, o, sizeof i), "long long"); }
    { double i[2] = { 1, -0.1 }, o[2]; unsigned char f[8] = { 0x3f, 0xf0 }; trip("double", MPI_DOUBLE, i, o, sizeof *i, 2, 8, f); CHECK(!memcmp(i, o, sizeof i), "double"); }
    { float i[2] = { 1, -0.1f }, o[2]; unsigned char f[4] = { 0x3f, 0x80 }; trip("float", MPI_FLOAT, i, o, sizeof *i, 2, 4, f); CHECK(!memcmp(i, o, sizeof i), "float"); }
    { short i[3] = { 0x1234, -1, 5 }, o[3]; unsigned char f[2] = { 0x12, 0x34 }; trip("short", MPI_SHORT, i, o, sizeof *i, 3, 2, f); CHECK(!memcmp(i, o, sizeof i), "short"); }
    { wchar_t i[3] = { L'a', 0x3b1, 0x20ac }, o[3]; unsigned char f[2] = { 0, 'a' }; trip("wchar", MPI_WCHAR, i, o, sizeof *i, 3, 2, f); CHECK(!memcmp(i, o, sizeof i), "wchar %x %x %x", (int)o[0], (int)o[1], (int)o[2]); }
    { MPI_Aint i[2] = { 1, -3 }, o[2]; unsigned char f[8] = { 0, 0, 0, 0, 0, 0, 0, 1 }; trip("aint", MPI_AINT, i, o, sizeof *i, 2, 8, f); CHECK(!memcmp(i, o, sizeof i), "aint"); }
    { MPI_Count i[2] = { 1, -3 }, o[2]; trip("count", MPI_COUNT, i, o, sizeof *i, 2, 8, NULL); CHECK(!memcmp(i, o, sizeof i), "count"); }
    { struct p { char c; short s; int i; long l; double d; } in[2] = { { 'x', 2, 3, -4, 0.5 }, { 'y', -2, -3, 4, -0.5 } }, out[2];
      int l[5] = { 1, 1, 1, 1, 1 }; MPI_Aint d[5] = { offsetof(struct p, c), offsetof(struct p, s), offsetof(struct p, i), offsetof(struct p, l), offsetof(struct p, d) };
      MPI_Datatype t[5] = { MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_DOUBLE }, raw, p;
      unsigned char f[19] = { 'x', 0, 2, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xfc, 0x3f, 0xe0 };
      MPI_Type_create_struct(5, l, d, t, &raw); MPI_Type_create_resized(raw, 0, sizeof(struct p), &p); MPI_Type_commit(&p);
      trip("struct", p, in, out, sizeof *in, 2, 19, f);
      CHECK(out[1].c == 'y' && out[1].s == -2 && out[1].i == -3 && out[1].l == 4 && out[1].d == -0.5, "struct"); }
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
