/* picolibc's, and POSIX's names: no signal is ever held back, so that there is no mask to keep. */
#ifndef MIDPLANE_SETJMP_H
#define MIDPLANE_SETJMP_H
#pragma GCC system_header

#include_next <setjmp.h>

#ifndef sigsetjmp
typedef jmp_buf sigjmp_buf;
#define sigsetjmp(place, keeps_mask) ((void)(keeps_mask), setjmp(place))
#define siglongjmp(place, value) longjmp(place, value)
#endif
#ifndef _setjmp
#define _setjmp(place) setjmp(place)
#define _longjmp(place, value) longjmp(place, value)
#endif

#endif
