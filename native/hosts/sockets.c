/* sockets.so: changes the TCP sockets of a program into which it is preloaded (LD_PRELOAD). Needed for sockets that exist for
 * one transfer only, as those of FTP servers.
 *
 *   SOCKETS_MPTCP=1                    makes MPTCP sockets instead, as mptcpize does, and binds them to all addresses
 *   SOCKETS_CONGESTION_CONTROL=cubic   sets the congestion control, which accepted connections inherit
 *   SOCKETS_INSTEAD_OF=bbr             only of sockets that have this one; a socket on which it cannot be set stays as it is
 *   SOCKETS_UNLESS=/run/own-           not if there is a file of this name with the network namespace's inode behind it */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The C library's function of a name that is replaced here. */
#define ORIGINAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define SOCKET_TYPE 0xf /* the rest are flags (socket(2)) */

static int is_mptcp(void) {
    return getenv("SOCKETS_MPTCP") != NULL;
}

static int uses(int fd, const char *algorithm) {
    char name[16] = "";
    socklen_t length = sizeof name;

    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 && strncmp(name, algorithm, sizeof name) == 0;
}

static int is_excepted(const char *beginning) {
    char path[256];
    struct stat namespace;

    if (!beginning || stat("/proc/self/ns/net", &namespace) < 0) return 0;
    snprintf(path, sizeof path, "%s%lu", beginning, (unsigned long)namespace.st_ino);
    return access(path, F_OK) == 0;
}

int socket(int family, int type, int protocol) {
    const char *algorithm = getenv("SOCKETS_CONGESTION_CONTROL"), *instead_of = getenv("SOCKETS_INSTEAD_OF");
    int is_stream = (family == AF_INET || family == AF_INET6) && (type & SOCKET_TYPE) == SOCK_STREAM;
    int is_tcp = is_stream && (protocol == 0 || protocol == IPPROTO_TCP);

    int fd = ORIGINAL(socket)(family, type, is_tcp && is_mptcp() ? IPPROTO_MPTCP : protocol);
    if (fd < 0 || !algorithm || !(is_tcp || (is_stream && protocol == IPPROTO_MPTCP))) return fd;
    if (instead_of && (!uses(fd, instead_of) || is_excepted(getenv("SOCKETS_UNLESS")))) return fd;
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, (socklen_t)strlen(algorithm)) < 0) {
        fprintf(stderr, "congestion control %s: %s\n", algorithm, strerror(errno));
        if (instead_of) return fd;
        close(fd);
        return -1; /* better no socket than one with another congestion control */
    }
    return fd;
}

/* A listener bound to one address would refuse subflows to the others. */
int bind(int fd, const struct sockaddr *address, socklen_t length) {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } where;

    if (!is_mptcp() || length > sizeof where) return ORIGINAL(bind)(fd, address, length);
    memcpy(&where, address, length);
    if (where.any.sa_family == AF_INET) where.ipv4.sin_addr.s_addr = htonl(INADDR_ANY);
    if (where.any.sa_family == AF_INET6) where.ipv6.sin6_addr = in6addr_any;
    return ORIGINAL(bind)(fd, &where.any, length);
}

/* MPTCP has no urgent data and refuses SO_OOBINLINE, which makes vsftpd close a connection. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    int result = ORIGINAL(setsockopt)(fd, level, name, value, length);
    return level == SOL_SOCKET && name == SO_OOBINLINE && result < 0 && errno == EOPNOTSUPP ? 0 : result;
}
