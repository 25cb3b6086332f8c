/* Addresses as numbers. */
#ifndef MIDPLANE_NETINET_IN_H
#define MIDPLANE_NETINET_IN_H
#pragma GCC system_header

#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef _IN_ADDR_T_DECLARED
typedef __UINT32_TYPE__ in_addr_t;
#define _IN_ADDR_T_DECLARED
#endif
#ifndef _IN_PORT_T_DECLARED
typedef __UINT16_TYPE__ in_port_t;
#define _IN_PORT_T_DECLARED
#endif
struct in_addr {
    in_addr_t s_addr;
};
struct in6_addr {
    __UINT8_TYPE__ s6_addr[16];
};
struct sockaddr_in {
    sa_family_t sin_family;
    in_port_t sin_port;
    struct in_addr sin_addr;
    unsigned char sin_zero[8];
};
struct sockaddr_in6 {
    sa_family_t sin6_family;
    in_port_t sin6_port;
    __UINT32_TYPE__ sin6_flowinfo;
    struct in6_addr sin6_addr;
    __UINT32_TYPE__ sin6_scope_id;
};

#define INADDR_ANY ((in_addr_t)0)
#define INADDR_BROADCAST ((in_addr_t)0xffffffff)
#define INADDR_NONE ((in_addr_t)0xffffffff)
#define INADDR_LOOPBACK ((in_addr_t)0x7f000001)
#define INET_ADDRSTRLEN 16
#define INET6_ADDRSTRLEN 46
#define IPPROTO_IP 0
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

#ifdef __cplusplus
}
#endif
#endif
