/* picolibc's, which has macros for the order of bytes; and the functions of addresses. */
#ifndef MIDPLANE_ARPA_INET_H
#define MIDPLANE_ARPA_INET_H
#pragma GCC system_header

#include_next <arpa/inet.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef htonl
#undef htonl
#undef htons
#undef ntohl
#undef ntohs
#endif
__UINT32_TYPE__ htonl(__UINT32_TYPE__);
__UINT32_TYPE__ ntohl(__UINT32_TYPE__);
__UINT16_TYPE__ htons(__UINT16_TYPE__);
__UINT16_TYPE__ ntohs(__UINT16_TYPE__);
in_addr_t inet_addr(const char *);
int inet_aton(const char *, struct in_addr *);
char *inet_ntoa(struct in_addr);
int inet_pton(int, const char *, void *);
const char *inet_ntop(int, const void *, char *, __socklen_t);

#ifdef __cplusplus
}
#endif
#endif
