/* picolibc's, and what it lacks of C. */
#ifndef MIDPLANE_COMPLEX_H
#define MIDPLANE_COMPLEX_H
#pragma GCC system_header

#include_next <complex.h>

/* A number of its two parts, whatever they are: `x + y * I` loses infinities and signs of zeros (C11 7.3.9.3). */
#if __ISO_C_VISIBLE >= 2011 && !defined CMPLX
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif

#endif
