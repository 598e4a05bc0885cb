#include "common/device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* UDP GSO packets: Linux 6.2. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

_Static_assert(DEVICE_NAME_BYTES == IFNAMSIZ, "the kernel's limit");

static int open_tun(void)
{
    return open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static int open_rtnetlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/* Opens one of these in another network namespace, where it stays. Closes `namespace_fd`, which may be -1. Returns -1
 * with errno if that fails. */
static int open_in(int namespace_fd, int (*open_it)(void))
{
    int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool entered = own >= 0 && namespace_fd >= 0 && setns(namespace_fd, CLONE_NEWNET) == 0;
    int opened = entered ? open_it() : -1, reason = errno;
    if (entered && setns(own, CLONE_NEWNET) != 0)
        abort(); /* going on in the wrong namespace would be worse */
    if (own >= 0)
        close(own);
    if (namespace_fd >= 0)
        close(namespace_fd);
    errno = reason;
    return opened;
}

/* `process` is as in device_open(). */
static int open_tun_of(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)process);
    return process == 0 ? open_tun() : open_in(open(path, O_RDONLY | O_CLOEXEC), open_tun);
}

static void add_attribute(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
    struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
    if (bytes > 0)
        memcpy(RTA_DATA(attribute), data, bytes);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_SPACE(bytes);
}

/* An rtnetlink request with its attributes. */
union message {
    struct nlmsghdr header;
    char bytes[512];
};

static void *begin(union message *message, unsigned short type, size_t body)
{
    message->header = (struct nlmsghdr){
        .nlmsg_len = (uint32_t)NLMSG_LENGTH(body),
        .nlmsg_type = type,
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
    };
    return NLMSG_DATA(&message->header);
}

/* Returns whether the kernel has carried out the request. */
static bool send_request(int sock, const union message *message)
{
    union message answer;
    if (send(sock, message, message->header.nlmsg_len, 0) < 0)
        return false;
    ssize_t got = recv(sock, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(int)) || answer.header.nlmsg_type != NLMSG_ERROR)
        return false;
    return ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error == 0;
}

/* Opens a netlink socket in the namespace where the device is now, and gets its name there; -1 if that fails. Do not
 * use ioctls to change the device: they require root of the whole machine. */
static int open_netlink(int fd, struct ifreq *name)
{
    int sock = open_in(ioctl(fd, TUNGETDEVNETNS), open_rtnetlink);
    *name = (struct ifreq){0};
    if (sock < 0 || ioctl(fd, TUNGETIFF, name) == 0)
        return sock;
    close(sock);
    return -1;
}

static bool change(int fd, unsigned flags, const struct device_attribute *attributes, size_t count)
{
    struct ifreq name;
    union message message = {0};
    int sock = open_netlink(fd, &name);
    if (sock < 0)
        return false;
    struct ifinfomsg *link = begin(&message, RTM_NEWLINK, sizeof *link);
    link->ifi_flags = link->ifi_change = flags;
    add_attribute(&message.header, IFLA_IFNAME, name.ifr_name, strlen(name.ifr_name) + 1);
    for (size_t i = 0; i < count; i++)
        add_attribute(&message.header, attributes[i].type, attributes[i].value, attributes[i].bytes);
    bool done = send_request(sock, &message);
    close(sock);
    return done;
}

bool device_set_all(int fd, const struct device_attribute *attributes, size_t count)
{
    return change(fd, 0, attributes, count);
}

bool device_set(int fd, unsigned short attribute, const void *value, size_t bytes)
{
    return device_set_all(fd, &(struct device_attribute){attribute, value, bytes}, 1);
}

bool device_set_number(int fd, unsigned short attribute, uint32_t value)
{
    return device_set(fd, attribute, &value, sizeof value);
}

bool device_set_up(int fd)
{
    return change(fd, IFF_UP, NULL, 0);
}

bool device_set_speed(int fd, uint32_t mbit)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_SSET, .duplex = DUPLEX_FULL, .autoneg = AUTONEG_DISABLE};
    struct ifreq name;
    int sock = open_netlink(fd, &name);
    if (sock < 0)
        return false;
    ethtool_cmd_speed_set(&command, mbit);
    name.ifr_data = (char *)&command;
    bool done = ioctl(sock, SIOCETHTOOL, &name) == 0;
    close(sock);
    return done;
}

bool device_announce(int fd)
{
    /* Of the attributes that may be set to what they are, only the alias is announced; devices here have none. */
    return device_set(fd, IFLA_IFALIAS, NULL, 0);
}

bool device_add_address(int fd, int family, const uint8_t *address, uint8_t prefix_length)
{
    struct ifreq name;
    union message message = {0};
    int sock = open_netlink(fd, &name);
    if (sock < 0)
        return false;
    size_t bytes = family == AF_INET ? 4 : 16;
    struct ifaddrmsg *body = begin(&message, RTM_NEWADDR, sizeof *body);
    message.header.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
    bool done = ioctl(sock, SIOCGIFINDEX, &name) == 0;
    body->ifa_family = (uint8_t)family;
    body->ifa_prefixlen = prefix_length;
    body->ifa_flags = IFA_F_NODAD; /* a tunnel has no other hosts to detect */
    body->ifa_index = (uint32_t)name.ifr_ifindex;
    add_attribute(&message.header, IFA_LOCAL, address, bytes);
    add_attribute(&message.header, IFA_ADDRESS, address, bytes);
    done = done && send_request(sock, &message);
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
        return "load the module with `modprobe tun`, give this container /dev/net/tun, or name a process that exists";
    default:
        return "see `dmesg` for the kernel's reason";
    }
}

int device_fail(int fd, const char *what, const char *name, char *error, size_t error_size)
{
    int reason = errno;
    snprintf(error, error_size, "cannot %s for %s: %s; %s", what, name, strerror(reason), remedy(reason));
    if (fd >= 0)
        close(fd);
    return -1;
}

int device_open(const char *name, pid_t process, int flags, char *error, size_t error_size)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
    /* Without IFF_TUN_EXCL, an existing persistent device of that name would be opened. */
    request.ifr_flags = (short)(flags | IFF_TUN_EXCL);

    int fd = open_tun_of(process);
    if (fd < 0)
        return device_fail(fd, "open /dev/net/tun", name, error, error_size);
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        return device_fail(fd, "create the device", name, error, error_size);
    return fd;
}

bool device_offer(int fd, enum device_offload offload)
{
    unsigned long tcp = offload >= DEVICE_TCP ? TUN_F_TSO4 | TUN_F_TSO6 : 0u;
    unsigned long udp = offload >= DEVICE_TCP_UDP ? TUN_F_USO4 | TUN_F_USO6 : 0u;
    return ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | tcp | udp) == 0;
}
