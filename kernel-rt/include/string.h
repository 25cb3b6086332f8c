/* picolibc's, less what programs have functions of their own for: Linux does not declare these here. */
#ifndef MIDPLANE_STRING_H
#define MIDPLANE_STRING_H
#pragma GCC system_header

#define strlwr __midplane_no_strlwr
#define strupr __midplane_no_strupr
#define strnstr __midplane_no_strnstr
/* The C libraries that are as old as this compiler do not have them. */
#if __GNUC__ < 14
#define strlcpy __midplane_no_strlcpy
#define strlcat __midplane_no_strlcat
#endif
#include_next <string.h>
#undef strlwr
#undef strupr
#undef strnstr
#undef strlcpy
#undef strlcat

#endif
