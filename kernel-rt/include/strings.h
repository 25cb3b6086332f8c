/* picolibc's, less what programs have functions of their own for: Linux does not declare these here. */
#ifndef MIDPLANE_STRINGS_H
#define MIDPLANE_STRINGS_H
#pragma GCC system_header

#define fls __midplane_no_fls
#define flsl __midplane_no_flsl
#define flsll __midplane_no_flsll
#include_next <strings.h>
#undef fls
#undef flsl
#undef flsll

#endif
