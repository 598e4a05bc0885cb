/* What a tunnel is to be, from one file that is checked as a whole before anything starts. */
#ifndef FLIGHTPATH_TUNNEL_CONFIGURATION_H
#define FLIGHTPATH_TUNNEL_CONFIGURATION_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tunnel/peer/keepalive.h"
#include "tunnel/limits.h"
#include "tunnel/data/scheduler.h"

#define CONFIGURATION_ADDRESSES_MAX 8
#define CONFIGURATION_NAME_BYTES 33u
#define CONFIGURATION_PATH_BYTES 1024u
#define CONFIGURATION_DEVICE_BYTES 16u

enum reordering_mode { REORDERING_OFF, REORDERING_FIXED, REORDERING_ADAPTIVE };

struct address {
    int family; /* AF_INET or AF_INET6; 0: none */
    uint8_t bytes[16];
    uint8_t prefix_length;
};

struct path_configuration {
    char name[CONFIGURATION_NAME_BYTES];
    struct address local, remote;
    char device[CONFIGURATION_DEVICE_BYTES]; /* "": as the routes say */
    double weight;
    bool backup, enabled;
    int line;
};

struct configuration {
    char device[CONFIGURATION_DEVICE_BYTES];
    struct address addresses[CONFIGURATION_ADDRESSES_MAX];
    int address_count;
    uint16_t port;
    uint32_t mtu; /* at most; 0: what the paths allow */
    bool clamp, offloads;
    char control[CONFIGURATION_PATH_BYTES], key_file[CONFIGURATION_PATH_BYTES];
    struct keepalive_key key;

    enum scheduler_kind scheduler;
    uint32_t run; /* 0: by the rate */
    bool adaptive_weights;

    enum reordering_mode reordering;
    uint32_t window;
    uint64_t max_delay_ns;

    bool keepalives;
    uint64_t interval_ns, dead_ns;
    uint32_t recover;

    struct path_configuration paths[PATHS_MAX];
    int path_count;
};

/* Reads and checks the file, and the key file that it names. Returns how many mistakes there are; each is a line `FILE:LINE: ...`
 * in `report`, which ends up shorter than `size`. */
int configuration_read(const char *path, struct configuration *configuration, char *report, size_t size);

/* The same for text; the key file is not read. */
int configuration_parse(const char *path, const char *text, size_t length, struct configuration *configuration, char *report,
                        size_t size);

#endif
