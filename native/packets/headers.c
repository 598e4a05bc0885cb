#include "packets/headers.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

#include "common/random.h"
#include "packets/checksum.h"

#define VLAN_TAG 4u
#define PORTS 4u

enum { NOT_ECT = 0, CE = 3 };

uint32_t headers_network(const uint8_t *frame, size_t available)
{
    size_t at = ETH_HLEN;
    if (available < at + VLAN_TAG)
        return 0;
    uint16_t type = headers_read16(frame + 12);
    if (type == ETH_P_8021Q) {
        type = headers_read16(frame + 16);
        at += VLAN_TAG;
    }
    size_t header = type == ETH_P_IP ? IPV4_HEADER : IPV6_HEADER;
    bool ip = (type == ETH_P_IP || type == ETH_P_IPV6) && at + header <= available;
    return ip && frame[at] >> 4 == (type == ETH_P_IP ? 4 : 6) ? (uint32_t)at : 0;
}

static uint64_t mix(uint64_t state, uint64_t value)
{
    state ^= value;
    return random_splitmix(&state);
}

static uint64_t mix_bytes(uint64_t state, const uint8_t *data, size_t bytes)
{
    for (; bytes >= 4; data += 4, bytes -= 4)
        state = mix(state, headers_read32(data));
    return state;
}

static bool has_ports(uint8_t protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

uint64_t headers_ip_flow(const uint8_t *ip, size_t available, uint64_t perturbation)
{
    bool v4 = ip[0] >> 4 == 4;
    uint8_t protocol = v4 ? ip[9] : ip[6];
    /* Only the first fragment of a packet has ports. */
    bool fragment = v4 && (headers_read16(ip + 6) & 0x3fff) != 0;
    size_t transport = v4 ? (size_t)(ip[0] & 15) * 4 : IPV6_HEADER;
    uint64_t state = mix(perturbation, protocol);

    state = v4 ? mix_bytes(state, ip + 12, 8) : mix_bytes(state, ip + 8, 32);
    if (has_ports(protocol) && !fragment && transport + PORTS <= available)
        state = mix_bytes(state, ip + transport, PORTS);
    return state;
}

uint64_t headers_flow(const uint8_t *frame, size_t available, uint64_t perturbation)
{
    uint32_t network = headers_network(frame, available);
    if (network == 0)
        return mix(perturbation, available < ETH_HLEN ? 0 : headers_read16(frame + 12));
    return headers_ip_flow(frame + network, available - network, perturbation);
}

static bool mark_ipv4(uint8_t *ip)
{
    uint16_t before = headers_read16(ip);
    if ((ip[1] & CE) == NOT_ECT)
        return false;
    ip[1] |= CE;
    headers_update_checksum(ip + 10, before, headers_read16(ip));
    return true;
}

static bool mark_ipv6(uint8_t *ip)
{
    if ((ip[1] >> 4 & CE) == NOT_ECT)
        return false;
    ip[1] |= CE << 4;
    return true;
}

bool headers_mark_congestion(uint8_t *frame, size_t available)
{
    uint32_t network = headers_network(frame, available);
    if (network == 0)
        return false;
    uint8_t *ip = frame + network;
    return ip[0] >> 4 == 4 ? mark_ipv4(ip) : mark_ipv6(ip);
}

uint16_t headers_checksum(const uint8_t *data, size_t bytes)
{
    uint16_t sum = (uint16_t)~checksum_fold(checksum_add(0, data, bytes));
    return headers_read16((const uint8_t *)&sum);
}

void headers_update_checksum(uint8_t *checksum, uint16_t before, uint16_t after)
{
    uint16_t sum = headers_sum((uint16_t)~headers_read16(checksum), headers_sum((uint16_t)~before, after));
    headers_write16(checksum, (uint16_t)~sum);
}

static void cut_tcp(uint8_t *tcp, const struct cut *cut)
{
    headers_write32(tcp + 4, headers_read32(tcp + 4) + cut->before);
    if (!cut->has_end)
        tcp[13] &= (uint8_t)~(TCP_FIN | TCP_PSH);
    if (!cut->has_start)
        tcp[13] &= (uint8_t)~TCP_CWR;
}

static void cut_ip(uint8_t *ip, uint32_t bytes, uint32_t first)
{
    if (ip[0] >> 4 == 6) {
        headers_write16(ip + 4, (uint16_t)(bytes - IPV6_HEADER));
        return;
    }
    headers_write16(ip + 2, (uint16_t)bytes);
    headers_write16(ip + 4, (uint16_t)(headers_read16(ip + 4) + first));
    headers_write16(ip + 10, 0);
    headers_write16(ip + 10, headers_checksum(ip, (size_t)(ip[0] & 15) * 4));
}

void headers_cut(uint8_t *ip, uint32_t transport, uint32_t headers, const struct cut *cut)
{
    cut_ip(ip, headers + cut->payload, cut->first);
    if (cut->udp)
        headers_write16(ip + transport + 4, (uint16_t)(headers - transport + cut->payload));
    else
        cut_tcp(ip + transport, cut);
}
