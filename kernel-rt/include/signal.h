/* picolibc's, and names that programs expect besides. Handlers run by raise() and kill(getpid(), ..) only: no signal
 * comes to a node from outside.
 */
#if !defined(MIDPLANE_SIGNAL_H) && !defined(MIDPLANE_TIME_ALONE)
#define MIDPLANE_SIGNAL_H
#pragma GCC system_header

#include_next <signal.h>

#ifndef SA_RESTART
#define SA_SIGINFO 0x4
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000
#define SA_RESTART 0x10000000
#endif

#endif
