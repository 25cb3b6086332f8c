/* A node has no shared libraries: dlopen() and dlsym() return NULL, and dlerror() says so. */
#ifndef MIDPLANE_DLFCN_H
#define MIDPLANE_DLFCN_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_GLOBAL 0x100
#define RTLD_LOCAL 0
#define RTLD_DEFAULT ((void *)0)
#define RTLD_NEXT ((void *)-1)

typedef struct {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;

void *dlopen(const char *, int);
void *dlsym(void *, const char *);
int dlclose(void *);
char *dlerror(void);
int dladdr(const void *, Dl_info *);

#ifdef __cplusplus
}
#endif
#endif
