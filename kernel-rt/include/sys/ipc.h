/* Nothing is shared between processes but by MPI: the calls fail with ENOSYS. */
#ifndef MIDPLANE_SYS_IPC_H
#define MIDPLANE_SYS_IPC_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IPC_CREAT 01000
#define IPC_EXCL 02000
#define IPC_NOWAIT 04000
#define IPC_RMID 0
#define IPC_SET 1
#define IPC_STAT 2
#define IPC_PRIVATE ((key_t)0)

struct ipc_perm {
    key_t key;
    uid_t uid, cuid;
    gid_t gid, cgid;
    mode_t mode;
};

key_t ftok(const char *, int);

#ifdef __cplusplus
}
#endif
#endif
