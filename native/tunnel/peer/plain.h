/* Plain keepalives: the unauthenticated ones of MPT-GRE's reference implementation. Each end sends them at an interval
 * of its own, at least a second, and takes a path to be dead on which it has heard none for a while. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/data/gre.h"

#define PLAIN_BYTES 40u
#define PLAIN_DATAGRAM_BYTES (GRE_BYTES + PLAIN_BYTES)

/* If `message`, without its GRE header, is a plain keepalive: writes the datagram that answers it, the same keepalive
 * as this end would send it, and returns true. */
bool plain_answer(const uint8_t *message, size_t length, uint8_t *datagram);
