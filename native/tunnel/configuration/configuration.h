/* The configuration of a tunnel: one file, checked as a whole before anything starts. `mptgre --help` documents its
 * keys. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/data/scheduler.h"
#include "tunnel/limits.h"
#include "tunnel/peer/keepalive.h"

#define CONFIGURATION_TEXT_MAX 65536u
#define CONFIGURATION_ADDRESSES_MAX 8
#define CONFIGURATION_NAME_BYTES 33u
#define CONFIGURATION_PATH_BYTES 1024u
#define CONFIGURATION_DEVICE_BYTES 16u

enum weight_mode { WEIGHTS_FIXED, WEIGHTS_ADAPTIVE };
enum reordering_mode { REORDERING_OFF, REORDERING_FIXED, REORDERING_ADAPTIVE };

/* The words for these and for enum scheduler_kind; each list ends with NULL. */
extern const char *const configuration_schedulers[], *const configuration_weights[], *const configuration_reordering[];

struct address {
    int family; /* AF_INET or AF_INET6; 0 if there is none */
    uint8_t bytes[16];
    uint8_t prefix_length;
};

struct addresses {
    struct address list[CONFIGURATION_ADDRESSES_MAX];
    int count;
};

/* Settings that can change while the tunnel runs. */
struct path_changeable {
    double weight;
    bool backup, enabled;
};

struct path_configuration {
    char name[CONFIGURATION_NAME_BYTES];
    struct address local, remote;
    char device[CONFIGURATION_DEVICE_BYTES]; /* "" to follow the routes */
    struct path_changeable changeable;
    int line; /* line of its section */
};

struct configuration {
    int line; /* line of [tunnel] */
    char device[CONFIGURATION_DEVICE_BYTES];
    struct addresses addresses;
    uint32_t port;
    uint32_t mtu; /* upper limit; 0 for none but the paths' own */
    bool clamp, offloads;
    uint64_t service_ns; /* time that each packet takes a thread (service.h); 0 for none but its own */
    char control[CONFIGURATION_PATH_BYTES], key_file[CONFIGURATION_PATH_BYTES];
    struct keepalive_key key;

    enum scheduler_kind scheduler;
    uint32_t run; /* 0 to choose it by the rate */
    enum weight_mode weights;

    enum reordering_mode reordering;
    uint32_t window;
    uint64_t max_delay_ns;

    bool keepalives, answer_plain;
    uint64_t interval_ns, dead_ns;
    uint32_t recover;

    struct path_configuration paths[PATHS_MAX];
    int path_count;
};

/* The mistakes in a file: a line `FILE:LINE: ...` for each, as far as they fit. */
struct report {
    const char *path;
    int mistakes;
    char text[16384];
};

__attribute__((format(printf, 3, 4))) void report_mistake(struct report *report, int line, const char *format, ...);

/* Reads and checks the file report->path, and the key file that it names. Returns false if there are mistakes. */
bool configuration_read(struct configuration *configuration, struct report *report);

/* Checks a text, which may hold any bytes, in place of the file, and no key file. */
bool configuration_parse(const char *text, size_t length, struct configuration *configuration, struct report *report);

/* Changes settings as `KEY=VALUE,...` says: all of them, or none. May change the text. Returns false with a sentence in
 * `error`. */
bool configuration_change_path(struct path_changeable *changeable, char *text, char *error, size_t error_size);
