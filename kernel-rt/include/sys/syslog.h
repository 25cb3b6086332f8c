/* By its old name. */
#ifndef MIDPLANE_SYS_SYSLOG_H
#define MIDPLANE_SYS_SYSLOG_H
#pragma GCC system_header

#include <syslog.h>

#endif
