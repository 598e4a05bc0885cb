#include "tunnel/peer/plain.h"

#include <string.h>

#define TYPE 0xa1u
/* Where a keepalive has the IP version of the tunnel, and the addresses inside of its sender and its receiver. */
#define VERSION_AT 5u
#define SENDER_AT 8u
#define RECEIVER_AT 24u
#define ADDRESS_BYTES 16u

bool plain_answer(const uint8_t *message, size_t length, uint8_t *datagram)
{
    if (length < PLAIN_BYTES || message[0] != TYPE)
        return false;
    uint8_t *answer = datagram + GRE_BYTES;
    gre_write(datagram, message[VERSION_AT] == 6 ? GRE_IPV6 : GRE_IPV4, false, 0);
    memset(answer, 0, PLAIN_BYTES);
    answer[0] = TYPE;
    answer[VERSION_AT] = message[VERSION_AT];
    memcpy(answer + SENDER_AT, message + RECEIVER_AT, ADDRESS_BYTES);
    memcpy(answer + RECEIVER_AT, message + SENDER_AT, ADDRESS_BYTES);
    return true;
}
