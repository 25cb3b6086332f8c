/* Nothing is shared between processes but by MPI: the calls fail with ENOSYS. */
#ifndef MIDPLANE_SYS_SHM_H
#define MIDPLANE_SYS_SHM_H
#pragma GCC system_header

#include <sys/ipc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHM_RDONLY 010000
#define SHM_RND 020000

typedef unsigned long shmatt_t;
struct shmid_ds {
    struct ipc_perm shm_perm;
    size_t shm_segsz;
    time_t shm_atime, shm_dtime, shm_ctime;
    pid_t shm_cpid, shm_lpid;
    shmatt_t shm_nattch;
};

int shmget(key_t, size_t, int);
void *shmat(int, const void *, int);
int shmdt(const void *);
int shmctl(int, int, struct shmid_ds *);

#ifdef __cplusplus
}
#endif
#endif
