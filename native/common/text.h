/* Text in buffers of fixed size: written piece by piece, or read as the values of `key=value`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends to the text in `out`; what does not fit into its `size` bytes is cut off. */
__attribute__((format(printf, 3, 4))) void text_append(char *out, size_t size, const char *format, ...);

/* Makes a text fit into a JSON string without escapes: every other character becomes '?'. */
void text_sanitise(char *text);

/* A value to read, and the buffer for the error. */
struct reading {
    const char *key, *value;
    char *error;
    size_t error_size;
};

/* The readers return false with the error `KEY: 'VALUE' is not ...`, and leave `out` as it was. */

bool text_read_whole(const struct reading *reading, uint64_t low, uint64_t high, uint64_t *out);
bool text_read_number(const struct reading *reading, double low, double high, double *out);
/* `true` or `false`, or 1 or 0. */
bool text_read_switch(const struct reading *reading, bool *out);
/* `out` becomes the index in `words`, which ends with NULL. */
bool text_read_choice(const struct reading *reading, const char *const *words, unsigned *out);

/* Puts the error together and returns false: `expected` follows "is not". */
__attribute__((format(printf, 2, 3))) bool text_refuse(const struct reading *reading, const char *expected, ...);
