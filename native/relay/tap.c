#include "relay/tap.h"

#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include "relay/spec/spec.h"

/* Linux 4.20. */
#ifndef TUNSETCARRIER
#define TUNSETCARRIER _IOW('T', 226, int)
#endif

int tap_create(const struct tap_request *request, char *error, size_t error_size)
{
    int fd = device_open(request->name, request->process, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, error, error_size);
    if (fd < 0)
        return -1;
    const uint32_t frames = TAP_QUEUE_FRAMES;
    const struct device_attribute sizes[] = {
        {IFLA_TXQLEN, &frames, sizeof frames},
        {IFLA_MTU, &request->mtu, sizeof request->mtu},
    };
    if (!device_set_all(fd, sizes, request->mtu == 0 ? 1 : 2))
        return device_fail(fd, "set queue length and MTU", request->name, error, error_size);
    if (request->has_mac && !device_set(fd, IFLA_ADDRESS, request->mac, sizeof request->mac))
        return device_fail(fd, "set the MAC address", request->name, error, error_size);
    return fd;
}

uint32_t tap_bound_frames(int fd, uint32_t bound)
{
    /* If the kernel cannot be given a size, its own maximum is in force: good enough for that bound only. */
    bool is_bounded = bound != 0 && (device_set_number(fd, IFLA_GSO_MAX_SIZE, bound) || bound == SPEC_FRAME_MAX_BYTES);
    if (is_bounded && (device_offer(fd, DEVICE_TCP_UDP) || device_offer(fd, DEVICE_TCP)))
        return bound;
    device_offer(fd, DEVICE_CHECKSUMS);
    return 0;
}

uint32_t tap_speed(uint64_t rate_bps)
{
    if (rate_bps == 0)
        return TAP_SPEED;
    uint64_t mbit = (rate_bps + 500000) / 1000000;
    return mbit == 0 ? 1 : (uint32_t)mbit;
}

void tap_show_speed(int fd, uint32_t mbit, bool announce)
{
    if (device_set_speed(fd, mbit) && announce)
        device_announce(fd);
}

bool tap_set_carrier(int fd, bool on)
{
    int carrier = on;
    return ioctl(fd, TUNSETCARRIER, &carrier) == 0;
}
