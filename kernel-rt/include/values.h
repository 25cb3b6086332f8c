/* Limits of numbers, by their names before C had some. */
#ifndef MIDPLANE_VALUES_H
#define MIDPLANE_VALUES_H
#pragma GCC system_header

#include <float.h>
#include <limits.h>

#define BITSPERBYTE 8
#define BITS(type) (BITSPERBYTE * (int)sizeof(type))
#define CHARBITS BITS(char)
#define SHORTBITS BITS(short)
#define INTBITS BITS(int)
#define LONGBITS BITS(long)
#define MINSHORT SHRT_MIN
#define MAXSHORT SHRT_MAX
#define MININT INT_MIN
#define MAXINT INT_MAX
#define MINLONG LONG_MIN
#define MAXLONG LONG_MAX
#define MINFLOAT FLT_MIN
#define MAXFLOAT FLT_MAX
#define MINDOUBLE DBL_MIN
#define MAXDOUBLE DBL_MAX
#define FMINEXP FLT_MIN_EXP
#define FMAXEXP FLT_MAX_EXP
#define DMINEXP DBL_MIN_EXP
#define DMAXEXP DBL_MAX_EXP

#endif
