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

/* This thread goes to another namespace. Returns its own, for leave(); -1 with errno: it has not gone. */
static int enter(int namespace_fd)
{
    int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own >= 0 && setns(namespace_fd, CLONE_NEWNET) != 0) {
        int reason = errno;
        close(own);
        errno = reason;
        return -1;
    }
    return own;
}

static void leave(int own)
{
    int reason = errno;
    if (setns(own, CLONE_NEWNET) != 0)
        abort(); /* Going on in the wrong namespace would be worse than the end of one link. */
    close(own);
    errno = reason;
}

/* A netlink socket belongs for ever to the namespace in which it was made. */
static int netlink_in(int namespace_fd)
{
    int own = enter(namespace_fd);
    if (own < 0)
        return -1;
    int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    leave(own);
    return sock;
}

/* So does a TAP. Of an existing process, or of this one if it is 0. */
static int open_tun_of(pid_t process)
{
    char path[64];
    if (process == 0)
        return open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)process);
    int namespace_fd = open(path, O_RDONLY | O_CLOEXEC);
    int own = namespace_fd < 0 ? -1 : enter(namespace_fd);
    int fd = own < 0 ? -1 : open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (own >= 0)
        leave(own);
    if (namespace_fd >= 0)
        close(namespace_fd);
    return fd;
}

static void add_attribute(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
    struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
    memcpy(RTA_DATA(attribute), data, bytes);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_SPACE(bytes);
}

static bool request_attribute(int sock, const char *name, unsigned short type, const void *value, size_t bytes)
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
    add_attribute(&message.header, type, value, bytes);
    if (send(sock, &message, message.header.nlmsg_len, 0) < 0)
        return false;
    ssize_t got = recv(sock, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(int)) || answer.header.nlmsg_type != NLMSG_ERROR)
        return false;
    return ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error == 0;
}

/* Sets an attribute of the device, wherever it is by now. Not by ioctl: that asks for root of the whole machine. */
static bool set_attribute(int fd, unsigned short type, const void *value, size_t bytes)
{
    struct ifreq request = {0};
    int namespace_fd = ioctl(fd, TUNGETDEVNETNS);
    if (namespace_fd < 0)
        return false;
    int sock = netlink_in(namespace_fd);
    close(namespace_fd);
    if (sock < 0)
        return false;
    bool done = ioctl(fd, TUNGETIFF, &request) == 0 && request_attribute(sock, request.ifr_name, type, value, bytes);
    close(sock);
    return done;
}

static bool set_number(int fd, unsigned short type, uint32_t value)
{
    return set_attribute(fd, type, &value, sizeof value);
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
        return "load the module with `modprobe tun`, give this container /dev/net/tun, or name a process that exists";
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

int tap_create(const struct tap_request *wanted, char *error, size_t error_size)
{
    struct ifreq request = request_for(wanted->name);
    /* EXCL: without it an existing persistent TAP of that name would be taken over. */
    request.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);

    int fd = open_tun_of(wanted->process);
    if (fd < 0)
        return fail(fd, "open /dev/net/tun", wanted->name, error, error_size);
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        return fail(fd, "create the TAP device", wanted->name, error, error_size);
    if (!set_number(fd, IFLA_TXQLEN, TAP_QUEUE_FRAMES))
        return fail(fd, "set the queue length", wanted->name, error, error_size);
    if (wanted->mtu != 0 && !set_number(fd, IFLA_MTU, wanted->mtu))
        return fail(fd, "set the MTU", wanted->name, error, error_size);
    if (wanted->has_mac && !set_attribute(fd, IFLA_ADDRESS, wanted->mac, sizeof wanted->mac))
        return fail(fd, "set the MAC address", wanted->name, error, error_size);
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
    bool sized = bound != 0 && (set_number(fd, IFLA_GSO_MAX_SIZE, bound) || bound == SPEC_FRAME_MAX_BYTES);
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
