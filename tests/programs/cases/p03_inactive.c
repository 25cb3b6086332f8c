/* Null and inactive requests in
   tests and waits for several (MPI-3.1 section 3.7.3, 3.7.5, 3.9). 1 rank or more; each talks to itself. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int bad;
#define CHECK(c, ...) do { if (!(c)) { printf("FAIL "); printf(__VA_ARGS__); printf("\n"); bad++; } } while (0)
static void empty(const char *what, MPI_Status *s)
{
    int n = -7, m = -7, c = 9;
    MPI_Count x = -7;
    MPI_Get_count(s, MPI_DOUBLE, &n); MPI_Get_elements(s, MPI_DOUBLE, &m); MPI_Get_elements_x(s, MPI_DOUBLE, &x);
    MPI_Test_cancelled(s, &c);
    CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && n == 0 && m == 0 && x == 0 && !c,
        "%s: not empty: source %d tag %d count %d cancelled %d", what, s->MPI_SOURCE, s->MPI_TAG, n, c);
    memset(s, 0x33, sizeof *s);
}
int main(void)
{
    int me, flag, index, out, idx[4], x = 0, y = 7, z = 0, i;
    MPI_Request r[4], p, keep;
    MPI_Status s, ss[4];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    memset(&s, 0x33, sizeof s); memset(ss, 0x33, sizeof ss);
    MPI_Recv_init(&x, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &p);
    keep = p;
    MPI_Wait(&p, &s); empty("Wait of one never started", &s); CHECK(p == keep, "Wait changes an inactive handle");
    flag = 0; MPI_Test(&p, &flag, &s); CHECK(flag, "Test of an inactive one"); empty("Test", &s);
    flag = 0; MPI_Request_get_status(p, &flag, &s); CHECK(flag, "get_status of an inactive one"); empty("get_status", &s);
    r[0] = MPI_REQUEST_NULL;
    MPI_Wait(r, &s); empty("Wait of null", &s);
    flag = 0; MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &s); CHECK(flag, "get_status of null"); empty("get_status null", &s);
    /* all null or inactive */
    r[0] = MPI_REQUEST_NULL; r[1] = p; r[2] = MPI_REQUEST_NULL;
    index = 5; MPI_Waitany(3, r, &index, &s); CHECK(index == MPI_UNDEFINED, "Waitany index %d", index); empty("Waitany", &s);
    index = 5; flag = 0; MPI_Testany(3, r, &index, &flag, &s); CHECK(flag && index == MPI_UNDEFINED, "Testany %d %d", flag, index); empty("Testany", &s);
    out = 5; MPI_Waitsome(3, r, &out, idx, ss); CHECK(out == MPI_UNDEFINED, "Waitsome out %d", out);
    out = 5; MPI_Testsome(3, r, &out, idx, ss); CHECK(out == MPI_UNDEFINED, "Testsome out %d", out);
    MPI_Waitall(3, r, ss); for (i = 0; i < 3; i++) empty("Waitall", &ss[i]);
    flag = 0; MPI_Testall(3, r, &flag, ss); CHECK(flag, "Testall of inactive ones"); for (i = 0; flag && i < 3; i++) empty("Testall", &ss[i]);
    /* none at all */
    index = 5; MPI_Waitany(0, NULL, &index, &s); CHECK(index == MPI_UNDEFINED, "Waitany of 0: %d", index); empty("Waitany of 0", &s);
    index = 5; flag = 0; MPI_Testany(0, NULL, &index, &flag, &s); CHECK(flag && index == MPI_UNDEFINED, "Testany of 0: %d %d", flag, index); empty("Testany of 0", &s);
    out = 5; MPI_Waitsome(0, NULL, &out, NULL, NULL); CHECK(out == MPI_UNDEFINED, "Waitsome of 0: %d", out);
    out = 5; MPI_Testsome(0, NULL, &out, NULL, NULL); CHECK(out == MPI_UNDEFINED, "Testsome of 0: %d", out);
    flag = 0; MPI_Testall(0, NULL, &flag, NULL); CHECK(flag, "Testall of 0");
    MPI_Waitall(0, NULL, NULL);
    /* one active that nothing has come for, beside null and inactive ones */
    MPI_Irecv(&z, 1, MPI_INT, me, 2, MPI_COMM_WORLD, &r[3]);
    index = 5; flag = 9; MPI_Testany(4, r, &index, &flag, &s); CHECK(!flag && index == MPI_UNDEFINED, "Testany with one active: %d %d", flag, index);
    out = 5; MPI_Testsome(4, r, &out, idx, ss); CHECK(out == 0, "Testsome with one active: %d", out);
    flag = 9; MPI_Testall(4, r, &flag, ss); CHECK(!flag, "Testall with one active");
    CHECK(r[1] == keep && r[3] != MPI_REQUEST_NULL, "Testall without flag changes handles");
    MPI_Send(&y, 1, MPI_INT, me, 2, MPI_COMM_WORLD);
    out = 5; MPI_Waitsome(4, r, &out, idx, ss);
    CHECK(out == 1 && idx[0] == 3 && ss[0].MPI_TAG == 2 && r[3] == MPI_REQUEST_NULL && r[1] == keep, "Waitsome %d %d", out, idx[0]);
    CHECK(z == 7, "data %d", z);
    /* persistent ones stay, become inactive, start again in another array with Startall */
    MPI_Send_init(&y, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &r[2]);
    for (i = 0; i < 3; i++) {
        y = 100 + i;
        MPI_Startall(2, r + 1);
        MPI_Waitall(4, r, ss);
        CHECK(x == 100 + i && r[1] == keep && ss[1].MPI_TAG == 1, "round %d: %d", i, x);
        out = 5; MPI_Testsome(4, r, &out, idx, ss); CHECK(out == MPI_UNDEFINED, "Testsome behind Waitall: %d", out);
    }
    MPI_Request_free(&r[1]); MPI_Request_free(&r[2]);
    CHECK(r[1] == MPI_REQUEST_NULL, "Request_free leaves a handle");
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
