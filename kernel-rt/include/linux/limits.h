/* PATH_MAX and its like. */
#ifndef MIDPLANE_LINUX_LIMITS_H
#define MIDPLANE_LINUX_LIMITS_H
#pragma GCC system_header

#include <limits.h>

#ifndef NAME_MAX
#define NAME_MAX 255
#endif

#endif
