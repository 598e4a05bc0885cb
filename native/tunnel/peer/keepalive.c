#include "tunnel/peer/keepalive.h"

#include <endian.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "packets/headers.h"

#define BODY_BYTES (KEEPALIVE_BYTES - KEEPALIVE_MAC_BYTES)

bool keepalive_mac(const struct keepalive_key *key, const uint8_t *data, size_t length, uint8_t *mac)
{
    unsigned bytes = 0;
    return HMAC(EVP_sha256(), key->bytes, (int)key->length, data, length, mac, &bytes) != NULL &&
           bytes == KEEPALIVE_MAC_BYTES;
}

#define NUMBERS_AT 8u
_Static_assert(NUMBERS_AT + 8 * KEEPALIVE_NUMBERS <= BODY_BYTES, "the numbers fit");
_Static_assert(sizeof(struct keepalive) == NUMBERS_AT + 8 * KEEPALIVE_NUMBERS, "these are all numbers");

bool keepalive_write(const struct keepalive *keepalive, const struct keepalive_key *key, uint8_t *out)
{
    memset(out, 0, BODY_BYTES);
    out[0] = KEEPALIVE_TYPE;
    out[1] = KEEPALIVE_VERSION;
    out[2] = keepalive->path;
    out[3] = keepalive->flags;
    headers_write32(out + 4, keepalive->next_sequence);
    for (size_t i = 0; i < KEEPALIVE_NUMBERS; i++) {
        uint64_t number = htobe64(keepalive->numbers[i]);
        memcpy(out + NUMBERS_AT + 8 * i, &number, sizeof number);
    }
    return keepalive_mac(key, out, BODY_BYTES, out + BODY_BYTES);
}

enum keepalive_verdict keepalive_read(const uint8_t *data, size_t length, const struct keepalive_key *key,
                                      struct keepalive *keepalive)
{
    uint8_t mac[KEEPALIVE_MAC_BYTES];
    if (length != KEEPALIVE_BYTES || data[0] != KEEPALIVE_TYPE || data[1] != KEEPALIVE_VERSION)
        return KEEPALIVE_MALFORMED;
    if (!keepalive_mac(key, data, BODY_BYTES, mac) || CRYPTO_memcmp(mac, data + BODY_BYTES, sizeof mac) != 0)
        return KEEPALIVE_FORGED;
    keepalive->path = data[2];
    keepalive->flags = data[3];
    keepalive->next_sequence = headers_read32(data + 4);
    for (size_t i = 0; i < KEEPALIVE_NUMBERS; i++) {
        uint64_t number;
        memcpy(&number, data + NUMBERS_AT + 8 * i, sizeof number);
        keepalive->numbers[i] = be64toh(number);
    }
    return KEEPALIVE_GOOD;
}
