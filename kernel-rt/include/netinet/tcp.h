/* For programs that name its option. */
#ifndef MIDPLANE_NETINET_TCP_H
#define MIDPLANE_NETINET_TCP_H
#pragma GCC system_header

#define TCP_NODELAY 1

#endif
