/* Text that grows piece by piece in a buffer of fixed size. */
#pragma once

#include <stddef.h>

/* Appends to the text in `out`; what does not fit into its `size` bytes is cut off. */
__attribute__((format(printf, 3, 4))) void text_append(char *out, size_t size, const char *format, ...);

/* Makes a text fit into a JSON string without escapes: every other character becomes '?'. */
void text_sanitise(char *text);
