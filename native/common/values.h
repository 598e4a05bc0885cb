/* Values in text form, of `key=value`: readers that check them, with one form for all error messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value to read, and the buffer for the error. */
struct reading {
    const char *key, *value;
    char *error;
    size_t error_size;
};

/* The readers return false with the error `KEY: 'VALUE' is not ...`, and leave `out` as it was. */

bool values_whole(const struct reading *reading, uint64_t low, uint64_t high, uint64_t *out);
bool values_number(const struct reading *reading, double low, double high, double *out);
/* `true` or `false`, or 1 or 0. */
bool values_switch(const struct reading *reading, bool *out);
/* `out` becomes the index in `words`, which ends with NULL. */
bool values_choice(const struct reading *reading, const char *const *words, unsigned *out);

/* Puts the error together and returns false: `expected` follows "is not". */
__attribute__((format(printf, 2, 3))) bool values_refuse(const struct reading *reading, const char *expected, ...);
