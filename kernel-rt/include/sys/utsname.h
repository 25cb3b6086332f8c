/* The names of a node. */
#ifndef MIDPLANE_SYS_UTSNAME_H
#define MIDPLANE_SYS_UTSNAME_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

struct utsname {
    char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};

int uname(struct utsname *);

#ifdef __cplusplus
}
#endif
#endif
