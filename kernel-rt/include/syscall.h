/* By its old name. */
#ifndef MIDPLANE_SYSCALL_H
#define MIDPLANE_SYSCALL_H
#pragma GCC system_header

#include <sys/syscall.h>

#endif
