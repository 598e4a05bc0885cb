/* Limits for several modules of the tunnel. */
#pragma once

#define PATHS_MAX 16
/* Datagrams that Linux sends by one call (UDP_MAX_SEGMENTS; newer kernels: 128), and payload bytes of one over IPv4. */
#define SEGMENTS_MAX 64u
#define DATAGRAM_MAX 65507u
