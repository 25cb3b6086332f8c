/* Which standards are asked for. */
#ifndef MIDPLANE_FEATURES_H
#define MIDPLANE_FEATURES_H
#pragma GCC system_header

#include <sys/features.h>

#endif
