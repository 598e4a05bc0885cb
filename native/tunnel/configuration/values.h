/* Values of a configuration file, by what they mean: each function complains, with the line, if the value is not such a one. */
#ifndef FLIGHTPATH_TUNNEL_VALUES_H
#define FLIGHTPATH_TUNNEL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration/configuration.h"
#include "tunnel/configuration/toml.h"

struct check {
    const char *path;
    char *report;
    size_t size;
    int mistakes;
    struct configuration *out;
};

/* Adds `FILE:LINE: ...` to the report. */
__attribute__((format(printf, 3, 4))) void values_complain(struct check *check, int line, const char *format, ...);

bool values_is(struct check *check, const struct toml_entry *entry, enum toml_type type);
/* Returns whether it is one, and from `low` to `high`. */
bool values_whole(struct check *check, const struct toml_entry *entry, int64_t low, int64_t high, int64_t *value);
void values_milliseconds(struct check *check, const struct toml_entry *entry, double low, double high, uint64_t *ns);
void values_boolean(struct check *check, const struct toml_entry *entry, bool *value);
/* `value` is the index in `names`, which ends with NULL. */
void values_choice(struct check *check, const struct toml_entry *entry, const char *const *names, int *value);
void values_text(struct check *check, const struct toml_entry *entry, char *out, size_t size);
/* An interface's name. */
void values_device(struct check *check, const struct toml_entry *entry, char *out);
/* A path's name: it goes into JSON and into requests as it is. */
void values_name(struct check *check, const struct toml_entry *entry, char *out);
void values_address(struct check *check, const struct toml_entry *entry, struct address *address);
/* Addresses with their prefix lengths, added to those of the configuration. */
void values_networks(struct check *check, const struct toml_entry *entry);

#endif
