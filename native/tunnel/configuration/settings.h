/* The settings of a tunnel: sections and keys, what each value must be, and where it goes. */
#pragma once

#include "common/text.h"

#define SETTINGS_MAX 32

enum section { SECTION_TUNNEL, SECTION_SCHEDULING, SECTION_REORDERING, SECTION_KEEPALIVE, SECTION_PATH, SECTIONS };
extern const char *const settings_sections[SECTIONS];

/* Returns the number of a setting, or -1 with an error that lists the known keys. `changeable`: only those that can
 * change while the tunnel runs. */
int settings_find(enum section section, bool changeable, const struct reading *reading);

/* Sets the member of `object`, which is a struct path_configuration for those of SECTION_PATH, and a struct
 * configuration for all others. Returns false with an error. */
bool settings_apply(int setting, const struct reading *reading, void *object);
