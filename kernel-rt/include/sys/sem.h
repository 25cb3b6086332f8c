/* Nothing is shared between processes but by MPI: the calls fail with ENOSYS. */
#ifndef MIDPLANE_SYS_SEM_H
#define MIDPLANE_SYS_SEM_H
#pragma GCC system_header

#include <sys/ipc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEM_UNDO 0x1000
#define GETVAL 12
#define SETVAL 16

struct sembuf {
    unsigned short sem_num;
    short sem_op, sem_flg;
};

int semget(key_t, int, int);
int semop(int, struct sembuf *, size_t);
int semctl(int, int, int, ...);

#ifdef __cplusplus
}
#endif
#endif
