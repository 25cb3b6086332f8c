/* Directories. The command performs their operations (`run --files`). Included by picolibc's dirent.h. */
#ifndef MIDPLANE_SYS_DIRENT_H
#define MIDPLANE_SYS_DIRENT_H
#pragma GCC system_header

#include <sys/types.h>

#define DT_UNKNOWN 0
#define DT_DIR 4
#define DT_REG 8
#define DT_LNK 10

typedef struct midplane_dir DIR;
struct dirent {
    ino_t d_ino;
    unsigned char d_type;
    char d_name[256];
};

#endif
