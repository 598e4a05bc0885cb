#include "tunnel/configuration/configuration.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "common/clock.h"
#include "common/text.h"
#include "tunnel/data/gre.h"
#include "tunnel/configuration/toml.h"
#include "tunnel/configuration/values.h"

#define NS_PER_MS UINT64_C(1000000)

/* Keys, by their tables. Each function returns false if it does not know the key. */

typedef bool set_function(struct check *check, const struct toml_entry *entry, struct path_configuration *path);

static const char *const tunnel_keys[] = {"device", "addresses", "port", "mtu", "clamp_mss", "offloads", "control", "key_file", NULL};

static bool set_tunnel(struct check *check, const struct toml_entry *entry, struct path_configuration *path)
{
    struct configuration *out = check->out;
    const char *key = entry->key;
    int64_t whole;
    (void)path;
    if (strcmp(key, "device") == 0)
        values_device(check, entry, out->device);
    else if (strcmp(key, "addresses") == 0)
        values_networks(check, entry);
    else if (strcmp(key, "port") == 0)
        out->port = values_whole(check, entry, 1, 65535, &whole) ? (uint16_t)whole : GRE_PORT;
    else if (strcmp(key, "mtu") == 0)
        out->mtu = values_whole(check, entry, 576, 65535, &whole) ? (uint32_t)whole : 0;
    else if (strcmp(key, "clamp_mss") == 0)
        values_boolean(check, entry, &out->clamp);
    else if (strcmp(key, "offloads") == 0)
        values_boolean(check, entry, &out->offloads);
    else if (strcmp(key, "control") == 0)
        values_text(check, entry, out->control, sizeof((struct sockaddr_un){0}).sun_path);
    else if (strcmp(key, "key_file") == 0)
        values_text(check, entry, out->key_file, sizeof out->key_file);
    else
        return false;
    return true;
}

static const char *const scheduling_keys[] = {"scheduler", "run", "weights", NULL};

static bool set_scheduling(struct check *check, const struct toml_entry *entry, struct path_configuration *path)
{
    static const char *const schedulers[] = {"wrr", "rtt", "redundant", "flowhash", NULL};
    static const char *const weights[] = {"fixed", "adaptive", NULL};
    struct configuration *out = check->out;
    int choice = 0;
    int64_t whole;
    (void)path;
    if (strcmp(entry->key, "scheduler") == 0) {
        values_choice(check, entry, schedulers, &choice);
        out->scheduler = (enum scheduler_kind)choice;
    } else if (strcmp(entry->key, "run") == 0) {
        out->run = values_whole(check, entry, 0, 1000, &whole) ? (uint32_t)whole : 0;
    } else if (strcmp(entry->key, "weights") == 0) {
        values_choice(check, entry, weights, &choice);
        out->adaptive_weights = choice == 1;
    } else {
        return false;
    }
    return true;
}

static const char *const reordering_keys[] = {"mode", "window", "max_delay_ms", NULL};

static bool set_reordering(struct check *check, const struct toml_entry *entry, struct path_configuration *path)
{
    static const char *const modes[] = {"off", "fixed", "adaptive", NULL};
    struct configuration *out = check->out;
    int choice = REORDERING_ADAPTIVE;
    int64_t whole;
    (void)path;
    if (strcmp(entry->key, "mode") == 0) {
        values_choice(check, entry, modes, &choice);
        out->reordering = (enum reordering_mode)choice;
    } else if (strcmp(entry->key, "window") == 0) {
        if (values_whole(check, entry, 64, 65536, &whole))
            out->window = (uint32_t)whole;
    } else if (strcmp(entry->key, "max_delay_ms") == 0) {
        values_milliseconds(check, entry, 1, 10000, &out->max_delay_ns);
    } else {
        return false;
    }
    return true;
}

static const char *const keepalive_keys[] = {"enabled", "interval_ms", "dead_ms", "recover", NULL};

static bool set_keepalive(struct check *check, const struct toml_entry *entry, struct path_configuration *path)
{
    struct configuration *out = check->out;
    int64_t whole;
    (void)path;
    if (strcmp(entry->key, "enabled") == 0)
        values_boolean(check, entry, &out->keepalives);
    else if (strcmp(entry->key, "interval_ms") == 0)
        values_milliseconds(check, entry, 1, 60000, &out->interval_ns);
    else if (strcmp(entry->key, "dead_ms") == 0)
        values_milliseconds(check, entry, 3, 600000, &out->dead_ns);
    else if (strcmp(entry->key, "recover") == 0)
        out->recover = values_whole(check, entry, 1, 100, &whole) ? (uint32_t)whole : 1;
    else
        return false;
    return true;
}

static const char *const path_keys[] = {"name", "local", "remote", "device", "weight", "backup", "enabled", NULL};

static bool set_path(struct check *check, const struct toml_entry *entry, struct path_configuration *path)
{
    if (strcmp(entry->key, "name") == 0)
        values_name(check, entry, path->name);
    else if (strcmp(entry->key, "local") == 0)
        values_address(check, entry, &path->local);
    else if (strcmp(entry->key, "remote") == 0)
        values_address(check, entry, &path->remote);
    else if (strcmp(entry->key, "device") == 0)
        values_device(check, entry, path->device);
    else if (strcmp(entry->key, "backup") == 0)
        values_boolean(check, entry, &path->backup);
    else if (strcmp(entry->key, "enabled") == 0)
        values_boolean(check, entry, &path->enabled);
    else if (strcmp(entry->key, "weight") != 0)
        return false;
    else if (!values_is(check, entry, TOML_NUMBER))
        ;
    else if (!(entry->number >= 0.001 && entry->number <= 1000000))
        values_complain(check, entry->line, "weight: %g is not from 0.001 to 1000000", entry->number);
    else
        path->weight = entry->number;
    return true;
}

static const struct {
    const char *name;
    bool in_array;
    set_function *set;
    const char *const *keys;
} known_tables[] = {
    {"tunnel", false, set_tunnel, tunnel_keys},
    {"scheduling", false, set_scheduling, scheduling_keys},
    {"reordering", false, set_reordering, reordering_keys},
    {"keepalive", false, set_keepalive, keepalive_keys},
    {"path", true, set_path, path_keys},
};
#define TABLES (sizeof known_tables / sizeof known_tables[0])

/* Letters to add, remove or replace; of words that are not too long. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64], columns = (unsigned)strlen(b);
    if (columns >= 64 || strlen(a) >= 64)
        return 64;
    for (unsigned j = 0; j <= columns; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= columns; j++) {
            unsigned replaced = diagonal + (a[i - 1] != b[j - 1]), shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];
            diagonal = row[j];
            row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[columns];
}

static void complain_unknown(struct check *check, int line, const char *what, const char *word, const char *const *known)
{
    const char *nearest = NULL;
    unsigned best = 3;
    char all[256] = "";
    for (int i = 0; known[i] != NULL; i++) {
        unsigned apart = distance(word, known[i]);
        if (apart < best) {
            best = apart;
            nearest = known[i];
        }
        text_append(all, sizeof all, "%s%s", i == 0 ? "" : ", ", known[i]);
    }
    if (nearest != NULL)
        values_complain(check, line, "unknown %s '%.64s'; did you mean '%s'?", what, word, nearest);
    else
        values_complain(check, line, "unknown %s '%.64s'; known are %s", what, word, all);
}

/* Returns the index in known_tables, or TABLES after a complaint. */
static size_t find_table(struct check *check, const struct toml_table *table)
{
    const char *names[TABLES + 1] = {NULL};
    for (size_t i = 0; i < TABLES; i++) {
        names[i] = known_tables[i].name;
        if (strcmp(names[i], table->name) != 0)
            continue;
        if (known_tables[i].in_array == table->in_array)
            return i;
        values_complain(check, table->line, known_tables[i].in_array ? "write [[%s]]: there may be several" : "write [%s]: there is one",
                 names[i]);
        return TABLES;
    }
    complain_unknown(check, table->line, "table", table->name, names);
    return TABLES;
}

static struct path_configuration *add_path(struct check *check, const struct toml_table *table)
{
    struct configuration *out = check->out;
    if (out->path_count == PATHS_MAX) {
        values_complain(check, table->line, "more than %d paths", PATHS_MAX);
        return NULL;
    }
    struct path_configuration *path = &out->paths[out->path_count++];
    *path = (struct path_configuration){.weight = 1, .enabled = true, .line = table->line};
    snprintf(path->name, sizeof path->name, "path%d", out->path_count);
    return path;
}

static void set_table(struct check *check, const struct toml *toml, int number)
{
    const struct toml_table *table = &toml->tables[number];
    size_t known = number == 0 ? TABLES : find_table(check, table);
    struct path_configuration *path = NULL;
    if (known < TABLES && known_tables[known].in_array && (path = add_path(check, table)) == NULL)
        return;
    for (int i = 0; i < toml->entry_count; i++) {
        const struct toml_entry *entry = &toml->entries[i];
        if (entry->table != number)
            continue;
        if (number == 0)
            values_complain(check, entry->line, "'%.64s' stands before the first table", entry->key);
        else if (known < TABLES && !known_tables[known].set(check, entry, path))
            complain_unknown(check, entry->line, "key", entry->key, known_tables[known].keys);
    }
}

/* What only several values together can be wrong about. `line` of a table that is not there is 1. */

static int line_of(const struct toml *toml, const char *name)
{
    for (int i = 0; i < toml->table_count; i++)
        if (strcmp(toml->tables[i].name, name) == 0)
            return toml->tables[i].line;
    return 1;
}

static bool same_address(const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static void check_path(struct check *check, int number)
{
    const struct path_configuration *path = &check->out->paths[number];
    if (path->local.family == 0 || path->remote.family == 0)
        values_complain(check, path->line, "path '%s': %s is missing", path->name, path->local.family == 0 ? "local" : "remote");
    else if (path->local.family != path->remote.family)
        values_complain(check, path->line, "path '%s': local and remote are of different families", path->name);
    else if (same_address(&path->local, &path->remote))
        values_complain(check, path->line, "path '%s': local and remote are the same address", path->name);
    for (int i = 0; i < number; i++) {
        const struct path_configuration *other = &check->out->paths[i];
        if (strcmp(path->name, other->name) == 0)
            values_complain(check, path->line, "the name '%s' is that of the path in line %d", path->name, other->line);
        if (path->local.family != 0 && same_address(&path->local, &other->local) && same_address(&path->remote, &other->remote))
            values_complain(check, path->line, "path '%s' has the addresses of the path in line %d", path->name, other->line);
    }
}

static void check_whole(struct check *check, const struct toml *toml)
{
    const struct configuration *out = check->out;
    int tunnel = line_of(toml, "tunnel"), keepalive = line_of(toml, "keepalive");
    if (out->device[0] == '\0')
        values_complain(check, tunnel, "[tunnel] device is missing");
    if (out->path_count == 0)
        values_complain(check, 1, "there is no [[path]]");
    if (out->keepalives && out->key_file[0] == '\0')
        values_complain(check, tunnel, "[tunnel] key_file is missing; without keepalives ([keepalive] enabled = false) none is needed");
    if (out->dead_ns < 2 * out->interval_ns)
        values_complain(check, keepalive, "[keepalive] dead_ms must be at least twice interval_ms");
    if (!out->keepalives && (out->adaptive_weights || out->scheduler == SCHEDULER_RTT))
        values_complain(check, line_of(toml, "scheduling"), "[scheduling] what is measured needs keepalives: %s",
                 out->adaptive_weights ? "weights = \"adaptive\"" : "scheduler = \"rtt\"");
    if (out->scheduler == SCHEDULER_REDUNDANT && out->reordering == REORDERING_OFF)
        values_complain(check, line_of(toml, "reordering"), "[scheduling] scheduler = \"redundant\" needs [reordering]: what comes twice "
                 "is known by its number");
    if (out->mtu != 0 && out->mtu < 1280)
        for (int i = 0; i < out->address_count; i++)
            if (out->addresses[i].family == AF_INET6)
                values_complain(check, tunnel, "[tunnel] mtu: IPv6 inside needs at least 1280");
    for (int i = 0; i < out->path_count; i++)
        check_path(check, i);
}

static void set_defaults(struct configuration *out)
{
    *out = (struct configuration){
        .port = GRE_PORT,
        .clamp = true,
        .offloads = true,
        .scheduler = SCHEDULER_WRR,
        .reordering = REORDERING_ADAPTIVE,
        .window = 16384,
        .max_delay_ns = 200 * NS_PER_MS,
        .keepalives = true,
        .interval_ns = 100 * NS_PER_MS,
        .dead_ns = 500 * NS_PER_MS,
        .recover = 3,
    };
}

int configuration_parse(const char *path, const char *text, size_t length, struct configuration *configuration, char *report,
                        size_t size)
{
    static struct toml toml;
    char error[TOML_ERROR_BYTES];
    struct check check = {.path = path, .report = report, .size = size, .out = configuration};

    report[0] = '\0';
    set_defaults(configuration);
    int line = toml_read(text, length, &toml, error);
    if (line != 0) {
        values_complain(&check, line, "%s", error);
        return check.mistakes;
    }
    for (int i = 0; i < toml.table_count; i++)
        set_table(&check, &toml, i);
    /* Else it would complain of what is missing only because it is wrong. */
    if (check.mistakes == 0)
        check_whole(&check, &toml);
    return check.mistakes;
}
