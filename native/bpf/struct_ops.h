/* Congestion controls as BPF objects: what one is called, whether the kernel takes it, and its registration. */
#ifndef FLIGHTPATH_STRUCT_OPS_H
#define FLIGHTPATH_STRUCT_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALGORITHM_NAME_BYTES 16

struct algorithm {
    char name[ALGORITHM_NAME_BYTES];
    uint32_t map_id;   /* the kernel's number for it */
    int map_fd;
    int link_fd;       /* the registration goes with it; -1: the kernel is older than 6.4 and keeps it until it is told */
};

/* The name in an object's `struct tcp_congestion_ops`. False, after a sentence on stderr: it has none. */
bool object_names(const char *path, char name[ALGORITHM_NAME_BYTES]);

/* Loads an object without registering it. Returns 0, or an errno after the kernel's log on stderr. */
int object_load(const char *path, struct algorithm *algorithm);

/* Registers what was loaded. Returns 0, or an errno (EEXIST: the name is taken). */
int algorithm_register(struct algorithm *algorithm);

/* Takes a registration back. Connections that use it keep it to their end. */
int algorithm_unregister(struct algorithm *algorithm);

/* Calls `each` for every congestion control that is registered from BPF on this machine. Returns 0 or an errno. */
int algorithms_each(void (*each)(uint32_t map_id, const char *name));

/* Takes the registration of a map back that has no link. Returns 0, ENOENT if it is no longer this one, or an errno. */
int map_unregister(uint32_t map_id, const char *name);

#endif
