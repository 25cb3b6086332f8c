/* libmpi.so.12: the functions of MPI with the ABI of MPICH, which call those of the standard ABI in libmpi_abi.so.1. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A status of MPICH. */
typedef struct {
    int count_lo;
    int count_hi_and_cancelled;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} mpich_status;

/* Defines a function by both names of MPI. In C it has another one, because mpi.h declares those of the standard ABI. */
#define ENTRY(result, name, parameters)                                                                            \
    result mpich_##name parameters __asm__("P" #name);                                                             \
    result mpich_weak_##name parameters __asm__(#name) __attribute__((weak, alias("P" #name)));                    \
    result mpich_##name parameters

/* Functions of libmpi_abi.so.1 (mpi-adi/c/src/adapters.rs, kernel-rt/src/board/linux/threads.rs). */
void midplane_adapt_operation(MPI_Op op, void (*adapter)(const void *, void *, void *, long long, MPI_Datatype));
void midplane_adapt_errhandler(MPI_Errhandler errhandler, void (*adapter)(const void *, void *, int *));
typedef int copy_adapter(void *, void *, int, void *, void *, void *, int *);
typedef int delete_adapter(void *, void *, int, void *, void *);
void midplane_adapt_keyval(int keyval, copy_adapter *copy, delete_adapter *delete);
size_t midplane_partners(MPI_Comm comm, int is_neighbourhood, int is_sent);
int midplane_comm_idup(MPI_Comm comm, const MPI_Info *info, int *newcomm, MPI_Request *request,
                       void (*store)(int *, MPI_Comm));
extern const volatile unsigned char midplane_threads_are_enabled;
void midplane_thread_enter(int changes);
void midplane_thread_leave(void);
