/* mpi.h, included twice, and its constants where the language wants constants: static initialisers, case labels, array
   lengths, enumerators (MPI-3.1 section 2.5.4). Compiles without a warning as C and as C++. Any number of ranks. */
#include <mpi.h>
#include <mpi.h>
#include <stdio.h>
static MPI_Comm world = MPI_COMM_WORLD;
static MPI_Datatype types[] = { MPI_INT, MPI_DOUBLE, MPI_C_BOOL, MPI_2INT, MPI_DATATYPE_NULL };
static MPI_Op ops[] = { MPI_SUM, MPI_NO_OP, MPI_REPLACE, MPI_OP_NULL };
static MPI_Request none = MPI_REQUEST_NULL;
static void *where[] = { MPI_IN_PLACE, MPI_BOTTOM };
static char name[MPI_MAX_PROCESSOR_NAME + MPI_MAX_ERROR_STRING + MPI_MAX_OBJECT_NAME + MPI_BSEND_OVERHEAD];
static MPI_Status *ignore = MPI_STATUS_IGNORE, *ignores = MPI_STATUSES_IGNORE;
enum { A = MPI_ANY_SOURCE, B = MPI_ANY_TAG, C = MPI_PROC_NULL, D = MPI_UNDEFINED, E = MPI_ROOT, F = MPI_ERR_TRUNCATE,
       G = MPI_THREAD_MULTIPLE, H = MPI_VERSION };
int main(int argc, char **argv)
{
    const int out[2] = { 1, 2 };
    int in[2], provided, rank;
    const char *const key = "key";
    MPI_Info info;
    MPI_Status s;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(world, &rank);
    switch (provided) {
    case MPI_THREAD_SINGLE: case MPI_THREAD_FUNNELED: case MPI_THREAD_SERIALIZED: case MPI_THREAD_MULTIPLE: break;
    default: return 1;
    }
    MPI_Sendrecv(out, 2, MPI_INT, 0, 0, in, 2, MPI_INT, 0, 0, MPI_COMM_SELF, &s);
    switch (s.MPI_SOURCE) {
    case MPI_PROC_NULL: case MPI_ANY_SOURCE: return 2;
    default: break;
    }
    MPI_Allreduce(MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM, world);
    MPI_Info_create(&info);
    MPI_Info_set(info, key, "value");
    MPI_Info_free(&info);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    name[0] = 0;
    if (in[0] == 0 || types[0] == types[1] || ops[0] == ops[1] || where[0] == where[1] || ignore != ignores) return 3;
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
