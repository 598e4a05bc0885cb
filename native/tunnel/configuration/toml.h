/* Reads a configuration file: the part of TOML 1.0 that settings need, with the line of each value.
 *
 * Understood: comments, [table], [[array of tables]], bare keys, "basic" and 'literal' strings of one line, whole numbers, numbers
 * with a point or an exponent, true, false, arrays of strings. Refused with a message: what else TOML has (dotted and quoted keys,
 * dates, inline tables, strings of several lines, other arrays), and what TOML itself refuses. */
#ifndef FLIGHTPATH_TUNNEL_TOML_H
#define FLIGHTPATH_TUNNEL_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOML_ENTRIES_MAX 512
#define TOML_TABLES_MAX 64
#define TOML_TEXT_MAX 65536u
#define TOML_ERROR_BYTES 256u

enum toml_type { TOML_STRING, TOML_WHOLE, TOML_NUMBER, TOML_BOOLEAN, TOML_STRINGS };

struct toml_table {
    const char *name; /* "": before the first header */
    bool in_array;    /* [[name]] */
    int line;
};

struct toml_entry {
    int table; /* its index */
    const char *key;
    int line;
    enum toml_type type;
    const char *text; /* of a string; the first of an array, the others behind their zeros */
    int count;        /* strings in an array */
    int64_t whole;
    double number; /* of a whole number, too */
    bool boolean;
};

struct toml {
    struct toml_table tables[TOML_TABLES_MAX];
    int table_count;
    struct toml_entry entries[TOML_ENTRIES_MAX];
    int entry_count;
    char text[TOML_TEXT_MAX + 1]; /* all names and strings */
    size_t used;
};

/* `text` of `length` bytes may hold anything. Returns 0, or the line of the first mistake with a sentence in `error`, which has
 * TOML_ERROR_BYTES. */
int toml_read(const char *text, size_t length, struct toml *toml, char *error);

#endif
