/* At MPI_Finalize the attributes of MPI_COMM_SELF are deleted first, in reverse order of setting; in the
   callbacks MPI still works and MPI_Finalized is false (MPI-3.1 section 8.7.1); a freed keyval's attribute still is deleted; MPI_Comm_disconnect
   deletes attributes (6.7.2). 2 ranks. Exit status 0 and "ok" are printed from the last callback's side of main. */
#include <mpi.h>
#include <stdio.h>
static int bad, order[8], calls, world_calls, disc;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
static int world_key;
static int on_self(MPI_Comm c, int key, void *value, void *extra)
{
    int f = 9, i = 9, x = 3, y = 0, sum = 0, found = 0, one = 1, n; void *v;
    (void)key;
    order[calls++] = (int)(long)value;
    CHECK(extra == (void *)&calls, "extra_state");
    CHECK(c == MPI_COMM_SELF, "communicator");
    MPI_Finalized(&f); MPI_Initialized(&i); CHECK(!f && i, "within MPI_Finalize: Finalized %d Initialized %d", f, i);
    MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); CHECK(y == 3, "message to oneself");
    MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); CHECK(sum == n, "allreduce in MPI_Finalize %d", sum);
    MPI_Comm_get_attr(MPI_COMM_WORLD, world_key, &v, &found); CHECK(found && *(int *)v == 17, "attribute of MPI_COMM_WORLD");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &v, &found); CHECK(found && *(int *)v >= 32767, "MPI_TAG_UB");
    return MPI_SUCCESS;
}
static int on_world(MPI_Comm c, int key, void *value, void *extra) { (void)c; (void)key; (void)value; (void)extra; world_calls++; return MPI_SUCCESS; }
static int on_disc(MPI_Comm c, int key, void *value, void *extra) { (void)c; (void)key; (void)value; (void)extra; disc++; return MPI_SUCCESS; }
int main(int argc, char **argv)
{
    static int seventeen = 17; int k, key, f = 9; MPI_Comm d;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_world, &world_key, NULL); MPI_Comm_set_attr(MPI_COMM_WORLD, world_key, &seventeen);
    for (k = 1; k <= 4; k++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_self, &key, &calls);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)(long)k);
        if (k != 2) MPI_Comm_free_keyval(&key);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &d); MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_disc, &key, NULL);
    MPI_Comm_set_attr(d, key, NULL); MPI_Comm_disconnect(&d); CHECK(disc == 1 && d == MPI_COMM_NULL, "disconnect: %d callbacks", disc);
    MPI_Finalize();
    CHECK(calls == 4 && order[0] == 4 && order[1] == 3 && order[2] == 2 && order[3] == 1, "%d callbacks, order %d %d %d %d", calls, order[0], order[1], order[2], order[3]);
    MPI_Finalized(&f); CHECK(f == 1, "Finalized behind it %d", f);
    if (!bad) printf("ok\n");
    return bad != 0;
}
