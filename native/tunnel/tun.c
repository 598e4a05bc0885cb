#include "tunnel/tun.h"

#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include "common/device.h"

static bool set_up(const struct configuration *configuration, int fd)
{
    if (!device_set_number(fd, IFLA_TXQLEN, TUN_QUEUE_PACKETS))
        return false;
    for (int i = 0; i < configuration->addresses.count; i++) {
        const struct address *address = &configuration->addresses.list[i];
        if (!device_add_address(fd, address->family, address->bytes, address->prefix_length))
            return false;
    }
    return device_set_up(fd);
}

bool tun_create(const struct configuration *configuration, uint32_t mtu, struct tun *tun, char *error,
                size_t error_size)
{
    tun->fd = device_open(configuration->device, 0, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, error, error_size);
    if (tun->fd < 0)
        return false;
    tun->udp = configuration->offloads && device_offer(tun->fd, DEVICE_TCP_UDP);
    tun->tcp = tun->udp || (configuration->offloads && device_offer(tun->fd, DEVICE_TCP));
    if (!tun->tcp)
        device_offer(tun->fd, DEVICE_CHECKSUMS);
    if (tun_set_mtu(tun, mtu, 0) && set_up(configuration, tun->fd))
        return true;
    device_fail(tun->fd, "set MTU, addresses and state", configuration->device, error, error_size);
    return false;
}

bool tun_set_mtu(const struct tun *tun, uint32_t mtu, uint32_t segments)
{
    if (segments > 0)
        device_set_number(tun->fd, IFLA_GSO_MAX_SEGS, segments); /* if refused, larger ones take two calls */
    return device_set_number(tun->fd, IFLA_MTU, mtu);
}
