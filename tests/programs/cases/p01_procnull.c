/* A receive from MPI_PROC_NULL must give source MPI_PROC_NULL, tag MPI_ANY_TAG, count 0
   (MPI-3.1 section 3.11, matched probes 3.8.2), whichever call completes it. Any number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int bad;
static void want(const char *what, MPI_Status *s)
{
    int n = -7, c = 9;
    MPI_Get_count(s, MPI_INT, &n);
    MPI_Test_cancelled(s, &c);
    if (s->MPI_SOURCE != MPI_PROC_NULL || s->MPI_TAG != MPI_ANY_TAG || n != 0 || c)
        printf("FAIL %s: source %d tag %d count %d cancelled %d\n", what, s->MPI_SOURCE, s->MPI_TAG, n, c), bad++;
    memset(s, 0x55, sizeof *s);
}
int main(void)
{
    int x = 5, flag = 0, i, index;
    MPI_Status s, ss[2];
    MPI_Request r, rr[2];
    MPI_Message m;
    MPI_Init(NULL, NULL);
    memset(&s, 0x55, sizeof s); memset(ss, 0x55, sizeof ss);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s); want("Recv", &s);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &r); MPI_Wait(&r, &s); want("Irecv Wait", &s);
    for (i = 0; i < 2; i++) MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &rr[i]);
    MPI_Waitall(2, rr, ss); want("Waitall 0", &ss[0]); want("Waitall 1", &ss[1]);
    for (i = 0; i < 2; i++) MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &rr[i]);
    while (!flag) MPI_Testall(2, rr, &flag, ss);
    want("Testall 0", &ss[0]); want("Testall 1", &ss[1]);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &rr[0]); rr[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, rr, &index, &s); want("Waitany", &s);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &r);
    flag = 0; while (!flag) MPI_Request_get_status(r, &flag, &s);
    want("Request_get_status", &s); MPI_Wait(&r, &s); want("Wait behind it", &s);
    MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &r);
    for (i = 0; i < 3; i++) { MPI_Start(&r); MPI_Wait(&r, &s); want("Recv_init", &s); }
    MPI_Request_free(&r);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, &x, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &s); want("Sendrecv", &s);
    MPI_Sendrecv_replace(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &s); want("Sendrecv_replace", &s);
    MPI_Probe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &s); want("Probe", &s);
    flag = 0; MPI_Iprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &s); want("Iprobe", &s);
    if (!flag) printf("FAIL Iprobe flag\n"), bad++;
    MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &m, &s); want("Mprobe", &s);
    if (m != MPI_MESSAGE_NO_PROC) printf("FAIL Mprobe message\n"), bad++;
    MPI_Mrecv(&x, 1, MPI_INT, &m, &s); want("Mrecv", &s);
    if (m != MPI_MESSAGE_NULL) printf("FAIL Mrecv leaves message\n"), bad++;
    flag = 0; MPI_Improbe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &m, &s); want("Improbe", &s);
    MPI_Imrecv(&x, 1, MPI_INT, &m, &r); MPI_Wait(&r, &s); want("Imrecv", &s);
    if (x != 5) printf("FAIL buffer changed to %d\n", x), bad++;
    if (!bad) printf("ok\n");
    MPI_Finalize();
    return bad != 0;
}
