/* What is asked of a machine. A program sees one processor; loads are not measured (0). */
#ifndef MIDPLANE_SYS_SYSINFO_H
#define MIDPLANE_SYS_SYSINFO_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

struct sysinfo {
    long uptime;
    unsigned long loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
    unsigned short procs;
    unsigned long totalhigh, freehigh;
    unsigned mem_unit;
};

int sysinfo(struct sysinfo *);
int get_nprocs(void);
int get_nprocs_conf(void);

#ifdef __cplusplus
}
#endif
#endif
