#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spec.h"

/* UDP super-frames: Linux 6.2. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

/* Linux 4.20. */
#ifndef TUNSETCARRIER
#define TUNSETCARRIER _IOW('T', 226, int)
#endif

_Static_assert(TAP_NAME_BYTES == IFNAMSIZ, "the kernel's limit");

static struct ifreq request_for(const char *name)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
    return request;
}

/* A netlink socket belongs for ever to the namespace in which it was made. */
static int netlink_in(int namespace_fd)
{
    int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0)
        return -1;
    int sock = -1;
    if (setns(namespace_fd, CLONE_NEWNET) == 0) {
        sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        if (setns(own, CLONE_NEWNET) != 0)
            abort(); /* Going on in the wrong namespace would be worse than the end of one link. */
    }
    close(own);
    return sock;
}

static void add_attribute(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
    struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
    memcpy(RTA_DATA(attribute), data, bytes);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_SPACE(bytes);
}

static bool request_attribute(int sock, const char *name, unsigned short type, uint32_t value)
{
    union {
        struct nlmsghdr header;
        char bytes[512];
    } message = {0}, answer;
    message.header = (struct nlmsghdr){
        .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
        .nlmsg_type = RTM_NEWLINK,
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
    };
    add_attribute(&message.header, IFLA_IFNAME, name, strlen(name) + 1);
    add_attribute(&message.header, type, &value, sizeof value);
    if (send(sock, &message, message.header.nlmsg_len, 0) < 0)
        return false;
    ssize_t got = recv(sock, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(int)) || answer.header.nlmsg_type != NLMSG_ERROR)
        return false;
    return ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error == 0;
}

/* Sets an attribute of the device, wherever it is by now. Not by ioctl: that asks for root of the whole machine. */
static bool set_attribute(int fd, unsigned short type, uint32_t value)
{
    struct ifreq request = {0};
    int namespace_fd = ioctl(fd, TUNGETDEVNETNS);
    if (namespace_fd < 0)
        return false;
    int sock = netlink_in(namespace_fd);
    close(namespace_fd);
    if (sock < 0)
        return false;
    bool done = ioctl(fd, TUNGETIFF, &request) == 0 && request_attribute(sock, request.ifr_name, type, value);
    close(sock);
    return done;
}

static const char *remedy(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
        return "run it as root, or inside a user namespace that owns the network namespace";
    case EBUSY:
    case EEXIST:
        return "an interface of this name exists already: choose another name";
    case ENOENT:
    case ENODEV:
    case ENXIO:
        return "load the module with `modprobe tun`, or give this container /dev/net/tun";
    default:
        return "see `dmesg` for the kernel's reason";
    }
}

static int fail(int fd, const char *what, const char *name, char *error, size_t error_size)
{
    int reason = errno;
    snprintf(error, error_size, "cannot %s for %s: %s; %s", what, name, strerror(reason), remedy(reason));
    if (fd >= 0)
        close(fd);
    return -1;
}

int tap_create(const char *name, char *error, size_t error_size)
{
    struct ifreq request = request_for(name);
    /* EXCL: without it an existing persistent TAP of that name would be taken over. */
    request.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);

    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail(fd, "open /dev/net/tun", name, error, error_size);
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        return fail(fd, "create the TAP device", name, error, error_size);
    if (!set_attribute(fd, IFLA_TXQLEN, TAP_QUEUE_FRAMES))
        return fail(fd, "set the queue length", name, error, error_size);
    return fd;
}

static bool offer(int fd, bool super_frames)
{
    unsigned long tcp = TUN_F_CSUM | (super_frames ? TUN_F_TSO4 | TUN_F_TSO6 : 0u);
    unsigned long udp = super_frames ? TUN_F_USO4 | TUN_F_USO6 : 0u;
    return ioctl(fd, TUNSETOFFLOAD, tcp | udp) == 0 || (udp != 0 && ioctl(fd, TUNSETOFFLOAD, tcp) == 0);
}

uint32_t tap_bound_frames(int fd, uint32_t bound)
{
    /* Without a size the kernel's own maximum is in force, and only a bound no smaller may rely on that. */
    bool sized = bound != 0 && (set_attribute(fd, IFLA_GSO_MAX_SIZE, bound) || bound == SPEC_FRAME_MAX_BYTES);
    if (sized && offer(fd, true))
        return bound;
    offer(fd, false);
    return 0;
}

bool tap_set_carrier(int fd, bool on)
{
    int carrier = on;
    return ioctl(fd, TUNSETCARRIER, &carrier) == 0;
}
