/* By its old name. */
#ifndef MIDPLANE_SYS_POLL_H
#define MIDPLANE_SYS_POLL_H
#pragma GCC system_header

#include <poll.h>

#endif
