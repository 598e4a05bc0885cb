/* Answers to requests: text that grows by pieces and never beyond its place. */
#ifndef FLIGHTPATH_TEXT_H
#define FLIGHTPATH_TEXT_H

#include <stddef.h>

/* Adds to the text in `out`, which ends up shorter than `size`. */
__attribute__((format(printf, 3, 4))) void text_append(char *out, size_t size, const char *format, ...);

/* Makes what quotes a request fit into a JSON string: whatever would need escaping becomes '?'. */
void text_disarm(char *text);

#endif
