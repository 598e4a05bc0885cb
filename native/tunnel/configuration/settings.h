/* The settings of a tunnel: sections and keys, what each value must be, and where it goes. */
#pragma once

#include "common/text.h"

#define SETTINGS_MAX 16 /* in a section */

enum setting_kind { WHOLE, NUMBER, MILLISECONDS, SWITCH, CHOICE, TEXT, DEVICE, NAME, ADDRESS, ADDRESSES };

struct setting {
    const char *key;
    enum setting_kind kind;
    size_t offset;            /* of the member that it sets */
    double low, high;         /* bounds of a number; `high` is also the most characters of a text */
    const char *const *words; /* of a choice */
};

enum { SECTION_TUNNEL, SECTION_SCHEDULING, SECTION_REORDERING, SECTION_KEEPALIVE, SECTION_PATH, SECTIONS };

/* Those of SECTION_PATH set members of struct path_configuration, all others of struct configuration. Each table ends
 * with a key of NULL. */
extern const struct section {
    const char *name;
    const struct setting *settings;
} settings_sections[SECTIONS];

/* Those of a path that can change while the tunnel runs. */
extern const struct setting *const settings_changeable;

/* Returns the key's index in a table, or -1 with an error that lists the known keys. */
int settings_find(const struct setting *settings, const struct reading *reading);

/* Sets the member of `object`. Returns false with an error. */
bool settings_apply(const struct setting *setting, const struct reading *reading, void *object);
