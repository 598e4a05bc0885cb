#include "tunnel/path_socket.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* For bursts of some ms at 10 Gb/s. */
#define RECEIVE_BYTES (16 << 20)
#define SEND_BYTES (8 << 20)

static socklen_t socket_address(const struct address *address, uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (address->family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, address->bytes, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, address->bytes, 16);
    return sizeof *in6;
}

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* Makes the kernel refuse packets that are too large instead of fragmenting them, and learn the path's MTU from
 * routers. */
static bool forbid_fragments(int fd, int family)
{
    return family == AF_INET ? set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
                             : set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

/* Enlarges the buffers as far as this user may. */
static void enlarge_buffers(int fd)
{
    if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES))
        set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES);
    if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BYTES))
        set(fd, SOL_SOCKET, SO_SNDBUF, SEND_BYTES);
}

/* Returns NULL, or what has failed, with errno. */
static const char *attach(int fd, const struct path_configuration *path, uint16_t port)
{
    struct sockaddr_storage local, remote;
    socklen_t length = socket_address(&path->local, port, &local);
    socket_address(&path->remote, port, &remote);
    if (path->device[0] != '\0' &&
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, path->device, (socklen_t)strlen(path->device)) != 0)
        return "bind to its device";
    if (!forbid_fragments(fd, path->local.family))
        return "forbid fragments";
    if (bind(fd, (const struct sockaddr *)&local, length) != 0)
        return "bind to its local address";
    return connect(fd, (const struct sockaddr *)&remote, length) == 0 ? NULL : "find a route to its remote address";
}

static const char *remedy(int reason)
{
    switch (reason) {
    case EADDRNOTAVAIL:
        return "give this host the address first";
    case EADDRINUSE:
        return "another program uses this address and port: choose another port at both ends";
    case ENETUNREACH:
    case EHOSTUNREACH:
        return "add a route, or bring the interface up";
    case ENODEV:
        return "there is no such interface";
    case EPERM:
        return "run it as root";
    default:
        return "see ip(8) for addresses and routes";
    }
}

bool path_socket_open(const struct path_configuration *path, uint16_t port, bool offloads, struct path_socket *opened,
                      char *error, size_t error_size)
{
    const char *failed = "make its socket";
    opened->fd = socket(path->local.family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened->fd >= 0 && (failed = attach(opened->fd, path, port)) == NULL) {
        enlarge_buffers(opened->fd);
        /* A segment size of 0 only tests whether the kernel can do it. */
        opened->segmentation =
            offloads && set(opened->fd, IPPROTO_UDP, UDP_SEGMENT, 0) && set(opened->fd, IPPROTO_UDP, UDP_GRO, 1);
        return true;
    }
    int reason = errno;
    snprintf(error, error_size, "path '%s': cannot %s: %s; %s", path->name, failed, strerror(reason), remedy(reason));
    if (opened->fd >= 0)
        close(opened->fd);
    return false;
}

uint32_t path_socket_mtu(int fd, int family)
{
    int mtu = 0;
    socklen_t length = sizeof mtu;
    bool is_known = family == AF_INET ? getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &length) == 0
                                      : getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &length) == 0;
    return is_known && mtu > 0 ? (uint32_t)mtu : 0;
}

uint32_t path_socket_queued(int fd)
{
    int queued = 0;
    return ioctl(fd, SIOCOUTQ, &queued) == 0 && queued > 0 ? (uint32_t)queued : 0;
}
