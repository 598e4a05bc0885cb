/* Asks a running tunnel, and shows its answer to people. */
#ifndef FLIGHTPATH_TUNNEL_STATUS_H
#define FLIGHTPATH_TUNNEL_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the answer: as it is, or the statistics as a table. Returns false with a sentence in `error`. */
bool status_ask(const char *socket_path, const char *request, bool as_json, char *error, size_t error_size);

#endif
