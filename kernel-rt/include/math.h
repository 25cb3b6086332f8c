/* picolibc's, less names that programs have for their own, which Linux does not declare here. */
#ifndef MIDPLANE_MATH_H
#define MIDPLANE_MATH_H
#pragma GCC system_header

#include <sys/features.h>

#define infinity __midplane_no_infinity
#define infinityf __midplane_no_infinityf
#if !__MISC_VISIBLE
#define gamma __midplane_no_gamma
#define gammaf __midplane_no_gammaf
#define gammal __midplane_no_gammal
#endif
#include_next <math.h>
#undef infinity
#undef infinityf
#undef gamma
#undef gammaf
#undef gammal

#undef isfinitef
#undef isnormalf
#undef iszerof
#if !__GNU_VISIBLE
#undef iseqsig
#undef issignaling
#undef issubnormal
#undef iszero
#endif

#endif
