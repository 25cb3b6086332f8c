/* Characters of 16 and 32 bits; wchar_t is of 32. */
#ifndef MIDPLANE_UCHAR_H
#define MIDPLANE_UCHAR_H
#pragma GCC system_header

#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__cplusplus) || __cplusplus < 201103L
typedef __CHAR16_TYPE__ char16_t;
typedef __CHAR32_TYPE__ char32_t;
#endif

size_t mbrtoc32(char32_t *, const char *, size_t, mbstate_t *);
size_t c32rtomb(char *, char32_t, mbstate_t *);

#ifdef __cplusplus
}
#endif
#endif
