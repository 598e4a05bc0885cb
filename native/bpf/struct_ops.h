/* Congestion controls as BPF objects: their names, the kernel's verdict on them, and their registration.
 *
 * Functions that return an int return 0 or an errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ALGORITHM_NAME_BYTES 16

struct bpf_map;

struct algorithm {
    char name[ALGORITHM_NAME_BYTES];
    struct bpf_map *map;
    uint32_t map_id; /* the kernel's number for the map */
    int map_fd;
    bool is_linked; /* Linux 6.4: the registration belongs to link_fd; before, it stays until it is deleted */
    int link_fd;    /* -1 if there is none */
};

/* Reads the name from an object's `struct tcp_congestion_ops`. Returns false, with a sentence on stderr, if it has
 * none. */
bool object_name(const char *path, char name[ALGORITHM_NAME_BYTES]);

/* Loads an object without registering it. If the verifier refuses it, the kernel's log is on stderr. */
int object_load(const char *path, struct algorithm *algorithm);

/* Registers a loaded algorithm. EEXIST: the name is taken. */
int algorithm_register(struct algorithm *algorithm);

/* Ends a registration. Connections that use the algorithm keep it until they end. */
int algorithm_unregister(struct algorithm *algorithm);

/* Calls `visit` for every congestion control that is registered from BPF on this machine. */
int algorithms_each(void (*visit)(uint32_t map_id, const char *name));

/* Ends a registration without a link. ENOENT: the map is not `name`'s any more. */
int map_unregister(uint32_t map_id, const char *name);
