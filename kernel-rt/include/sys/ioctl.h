/* A node has no devices: ioctl() fails with ENOTTY. */
#ifndef MIDPLANE_SYS_IOCTL_H
#define MIDPLANE_SYS_IOCTL_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

#define TIOCGWINSZ 0x5413
#define TIOCSWINSZ 0x5414
#define FIONREAD 0x541b
#define FIONBIO 0x5421

struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

int ioctl(int, unsigned long, ...);

#ifdef __cplusplus
}
#endif
#endif
