#include "tunnel/peer/keepalive.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "packets/headers.h"

#define BODY_BYTES (KEEPALIVE_BYTES - KEEPALIVE_MAC_BYTES)

bool keepalive_mac(const struct keepalive_key *key, const uint8_t *data, size_t length, uint8_t *mac)
{
    unsigned bytes = 0;
    return HMAC(EVP_sha256(), key->bytes, (int)key->length, data, length, mac, &bytes) != NULL && bytes == KEEPALIVE_MAC_BYTES;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    headers_write32(at, (uint32_t)(value >> 32));
    headers_write32(at + 4, (uint32_t)value);
    return at + 8;
}

static const uint8_t *get64(const uint8_t *at, uint64_t *value)
{
    *value = (uint64_t)headers_read32(at) << 32 | headers_read32(at + 4);
    return at + 8;
}

bool keepalive_write(const struct keepalive *keepalive, const struct keepalive_key *key, uint8_t *out)
{
    const uint64_t numbers[] = {
        keepalive->session,      keepalive->counter,          keepalive->challenge,      keepalive->response,
        keepalive->sent_ns,      keepalive->echo_ns,          keepalive->echo_age_ns,    keepalive->sent_packets,
        keepalive->received_packets, keepalive->received_bytes, keepalive->lost_packets, (uint64_t)keepalive->delay_ns,
    };
    uint8_t *at = out + 8;
    memset(out, 0, BODY_BYTES);
    out[0] = KEEPALIVE_TYPE;
    out[1] = KEEPALIVE_VERSION;
    out[2] = keepalive->path;
    out[3] = keepalive->flags;
    headers_write32(out + 4, keepalive->next_sequence);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        at = put64(at, numbers[i]);
    return keepalive_mac(key, out, BODY_BYTES, out + BODY_BYTES);
}

enum keepalive_verdict keepalive_read(const uint8_t *data, size_t length, const struct keepalive_key *key,
                                      struct keepalive *keepalive)
{
    uint8_t mac[KEEPALIVE_MAC_BYTES];
    uint64_t delay;
    if (length != KEEPALIVE_BYTES || data[0] != KEEPALIVE_TYPE || data[1] != KEEPALIVE_VERSION)
        return KEEPALIVE_MALFORMED;
    if (!keepalive_mac(key, data, BODY_BYTES, mac) || CRYPTO_memcmp(mac, data + BODY_BYTES, sizeof mac) != 0)
        return KEEPALIVE_FORGED;
    keepalive->path = data[2];
    keepalive->flags = data[3];
    keepalive->next_sequence = headers_read32(data + 4);
    uint64_t *const numbers[] = {
        &keepalive->session,      &keepalive->counter,          &keepalive->challenge,      &keepalive->response,
        &keepalive->sent_ns,      &keepalive->echo_ns,          &keepalive->echo_age_ns,    &keepalive->sent_packets,
        &keepalive->received_packets, &keepalive->received_bytes, &keepalive->lost_packets, &delay,
    };
    data += 8;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        data = get64(data, numbers[i]);
    keepalive->delay_ns = (int64_t)delay;
    return KEEPALIVE_GOOD;
}
