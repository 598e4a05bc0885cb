/* Limits that several modules of the tunnel share. */
#ifndef FLIGHTPATH_TUNNEL_LIMITS_H
#define FLIGHTPATH_TUNNEL_LIMITS_H

#define PATHS_MAX 16
/* What Linux cuts out of one call (UDP_MAX_SEGMENTS; newer kernels: 128), and what one UDP datagram may hold over IPv4. */
#define SEGMENTS_MAX 64u
#define DATAGRAM_MAX 65507u

#endif
