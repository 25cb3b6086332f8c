/* What MPI_Get_count and MPI_Get_elements say of a receive that
   ends within a datatype, of datatypes without data, and of what does not fit an int (MPI-3.1 sections 3.2.5, 4.1.11, 12.3). 1 rank. */
#include <mpi.h>
#include <stdio.h>
#include <stddef.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
struct cell { short a[2]; double b; char c; };
static void ask(const char *what, MPI_Status *s, MPI_Datatype t, int count, int elements)
{
    int n = -9, m = -9; MPI_Count x = -9;
    MPI_Get_count(s, t, &n); MPI_Get_elements(s, t, &m); MPI_Get_elements_x(s, t, &x);
    CHECK(n == count && m == elements && x == elements, "%s: count %d (wanted %d) elements %d %lld (wanted %d)", what, n, count, m, (long long)x, elements);
}
int main(void)
{
    int me, i, k;
    struct cell in[6] = { { { 1, 2 }, 3, 4 } }, out[6];
    int three[3] = { 1, 2, 3 }, got[40];
    char nothing;
    MPI_Datatype cell, two, part[8], vec, nest, zero, huge, h1;
    MPI_Status s;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    {
        int l[3] = { 2, 1, 1 };
        MPI_Aint d[3] = { offsetof(struct cell, a), offsetof(struct cell, b), offsetof(struct cell, c) };
        MPI_Datatype t[3] = { MPI_SHORT, MPI_DOUBLE, MPI_CHAR }, raw;
        MPI_Type_create_struct(3, l, d, t, &raw); MPI_Type_create_resized(raw, 0, sizeof(struct cell), &cell);
        MPI_Type_commit(&cell); MPI_Type_free(&raw);
        /* the first k basic elements of the list short short double char short ... */
        for (k = 1; k <= 7; k++) {
            int ll[8], n = 0; MPI_Aint dd[8]; MPI_Datatype tt[8];
            for (i = 0; i < k; i++) {
                ll[n] = 1; dd[n] = (i / 4) * sizeof(struct cell) + (i % 4 == 0 ? 0 : i % 4 == 1 ? 2 : i % 4 == 2 ? d[1] : d[2]);
                tt[n++] = i % 4 < 2 ? MPI_SHORT : i % 4 == 2 ? MPI_DOUBLE : MPI_CHAR;
            }
            MPI_Type_create_struct(n, ll, dd, tt, &part[k]); MPI_Type_commit(&part[k]);
        }
    }
    MPI_Type_contiguous(2, cell, &two); MPI_Type_commit(&two);
    for (k = 1; k <= 7; k++) {
        char w[40];
        MPI_Sendrecv(in, 1, part[k], me, 0, out, 6, cell, me, 0, MPI_COMM_WORLD, &s);
        sprintf(w, "cell, %d basic", k); ask(w, &s, cell, k % 4 ? MPI_UNDEFINED : k / 4, k);
        MPI_Sendrecv(in, 1, part[k], me, 0, out, 3, two, me, 0, MPI_COMM_WORLD, &s);
        sprintf(w, "two cells, %d basic", k); ask(w, &s, two, k % 8 ? MPI_UNDEFINED : 1, k);
    }
    MPI_Type_vector(2, 2, 3, MPI_INT, &vec); MPI_Type_commit(&vec);      /* 4 ints */
    MPI_Type_contiguous(2, vec, &nest); MPI_Type_commit(&nest);          /* 8 ints */
    for (k = 0; k <= 3; k++) {
        MPI_Sendrecv(three, k, MPI_INT, me, 0, got, 2, nest, me, 0, MPI_COMM_WORLD, &s);
        ask("nest", &s, nest, k ? MPI_UNDEFINED : 0, k); ask("vec", &s, vec, k ? MPI_UNDEFINED : 0, k);
        ask("int", &s, MPI_INT, k, k);
    }
    MPI_Type_contiguous(0, MPI_INT, &zero); MPI_Type_commit(&zero);
    MPI_Sendrecv(&nothing, 0, MPI_INT, me, 0, &nothing, 5, zero, me, 0, MPI_COMM_WORLD, &s);
    ask("nothing into no data", &s, zero, 0, 0); ask("nothing as int", &s, MPI_INT, 0, 0);
    MPI_Sendrecv(three, 2, MPI_INT, me, 0, got, 2, MPI_INT, me, 0, MPI_COMM_WORLD, &s);
    { int n = 0; MPI_Get_count(&s, zero, &n); CHECK(n == MPI_UNDEFINED, "two ints in a datatype without data: %d", n); }
    MPI_Status_set_elements(&s, nest, 2); ask("set_elements nest 2", &s, nest, MPI_UNDEFINED, 2);
    MPI_Status_set_elements(&s, nest, 16); ask("set_elements nest 16", &s, nest, 2, 16);
    MPI_Status_set_elements(&s, cell, 8); ask("set_elements cell 8", &s, cell, 2, 8);
    MPI_Status_set_elements(&s, cell, 3); ask("set_elements cell 3", &s, cell, MPI_UNDEFINED, 3);
    /* more than an int holds */
    MPI_Type_contiguous(1 << 20, MPI_INT, &h1); MPI_Type_contiguous(1 << 12, h1, &huge); MPI_Type_commit(&huge);
    {
        int n = 0, m = 0; MPI_Count x = 0, lb, ex; MPI_Aint l, e;
        MPI_Type_size(huge, &n); CHECK(n == MPI_UNDEFINED, "Type_size of 2^34 bytes is %d", n);
        MPI_Type_size_x(huge, &x); CHECK(x == (MPI_Count)1 << 34, "Type_size_x %lld", (long long)x);
        MPI_Type_get_extent(huge, &l, &e); CHECK(sizeof(MPI_Aint) < 8 || e == (MPI_Aint)((MPI_Count)1 << 34), "extent %lld", (long long)e);
        MPI_Type_get_extent_x(huge, &lb, &ex); CHECK(ex == (MPI_Count)1 << 34, "extent_x %lld", (long long)ex);
        MPI_Status_set_elements_x(&s, MPI_INT, (MPI_Count)5 << 30); n = m = 0;
        MPI_Get_count(&s, MPI_INT, &n); MPI_Get_elements(&s, MPI_INT, &m); MPI_Get_elements_x(&s, MPI_INT, &x);
        CHECK(n == MPI_UNDEFINED && m == MPI_UNDEFINED && x == (MPI_Count)5 << 30, "5 x 2^30 ints: %d %d %lld", n, m, (long long)x);
        MPI_Get_count(&s, huge, &n); CHECK(n == MPI_UNDEFINED, "5 x 2^30 ints in 2^32 each: %d", n);
        MPI_Status_set_elements_x(&s, huge, (MPI_Count)3 << 32); MPI_Get_count(&s, huge, &n); CHECK(n == 3, "three of them: %d", n);
    }
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
