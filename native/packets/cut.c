#include "packets/cut.h"

#include "packets/headers.h"

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
        headers_write16(ip + 4, (uint16_t)(bytes - 40));
        return;
    }
    headers_write16(ip + 2, (uint16_t)bytes);
    headers_write16(ip + 4, (uint16_t)(headers_read16(ip + 4) + first));
    headers_write16(ip + 10, 0);
    headers_write16(ip + 10, headers_checksum(ip, (size_t)(ip[0] & 15) * 4));
}

void cut_headers(uint8_t *ip, uint32_t transport, uint32_t headers, const struct cut *cut)
{
    cut_ip(ip, headers + cut->payload, cut->first);
    if (cut->udp)
        headers_write16(ip + transport + 4, (uint16_t)(headers - transport + cut->payload));
    else
        cut_tcp(ip + transport, cut);
}
