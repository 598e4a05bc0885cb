#include "tunnel/configuration/settings.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "common/clock.h"
#include "common/text.h"
#include "tunnel/configuration/configuration.h"

#define NS_PER_US (NS_PER_MS / 1000)
#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

const char *const configuration_schedulers[] = {"wrr", "rtt", "redundant", "flowhash", NULL};
const char *const configuration_weights[] = {"fixed", "adaptive", NULL};
const char *const configuration_reordering[] = {"off", "fixed", "adaptive", NULL};

const char *const settings_sections[SECTIONS] = {"tunnel", "scheduling", "reordering", "keepalive", "path"};

enum kind { WHOLE, NUMBER, MILLISECONDS, MICROSECONDS, SWITCH, CHOICE, TEXT, DEVICE, NAME, ADDRESS, ADDRESSES };

struct setting {
    enum section section;
    const char *key;
    enum kind kind;
    size_t offset;            /* place of the member that it sets */
    double low, high;         /* bounds of a number; `high` is also the most characters of a text */
    const char *const *words; /* words of a choice */
    bool changeable;
};

#define OF(type, section_, key_, kind_, member, ...) \
    {.section = SECTION_##section_, .key = key_, .kind = kind_, .offset = offsetof(type, member), __VA_ARGS__}
#define SETTING(...) OF(struct configuration, __VA_ARGS__)
#define OF_PATH(...) OF(struct path_configuration, PATH, __VA_ARGS__)

static const struct setting settings[] = {
    SETTING(TUNNEL, "device", DEVICE, device),
    SETTING(TUNNEL, "addresses", ADDRESSES, addresses),
    SETTING(TUNNEL, "port", WHOLE, port, .low = 1, .high = 65535),
    SETTING(TUNNEL, "mtu", WHOLE, mtu, .low = 576, .high = 65535),
    SETTING(TUNNEL, "clamp_mss", SWITCH, clamp),
    SETTING(TUNNEL, "offloads", SWITCH, offloads),
    SETTING(TUNNEL, "service_time_us", MICROSECONDS, service_ns, .low = 0, .high = 10000),
    SETTING(TUNNEL, "control", TEXT, control, .high = sizeof((struct sockaddr_un){0}).sun_path - 1),
    SETTING(TUNNEL, "key_file", TEXT, key_file, .high = CONFIGURATION_PATH_BYTES - 1),
    SETTING(SCHEDULING, "scheduler", CHOICE, scheduler, .words = configuration_schedulers),
    SETTING(SCHEDULING, "run", WHOLE, run, .low = 0, .high = 1000),
    SETTING(SCHEDULING, "weights", CHOICE, weights, .words = configuration_weights),
    SETTING(REORDERING, "mode", CHOICE, reordering, .words = configuration_reordering),
    SETTING(REORDERING, "window", WHOLE, window, .low = 64, .high = 65536),
    SETTING(REORDERING, "max_delay_ms", MILLISECONDS, max_delay_ns, .low = 1, .high = 10000),
    SETTING(KEEPALIVE, "enabled", SWITCH, keepalives),
    SETTING(KEEPALIVE, "answer_plain", SWITCH, answer_plain),
    SETTING(KEEPALIVE, "interval_ms", MILLISECONDS, interval_ns, .low = 1, .high = 60000),
    SETTING(KEEPALIVE, "dead_ms", MILLISECONDS, dead_ns, .low = 3, .high = 600000),
    SETTING(KEEPALIVE, "recover", WHOLE, recover, .low = 1, .high = 100),
    OF_PATH("name", NAME, name),
    OF_PATH("local", ADDRESS, local),
    OF_PATH("remote", ADDRESS, remote),
    OF_PATH("device", DEVICE, device),
    OF_PATH("weight", NUMBER, changeable.weight, .low = 0.001, .high = 1000000, .changeable = true),
    OF_PATH("backup", SWITCH, changeable.backup, .changeable = true),
    OF_PATH("enabled", SWITCH, changeable.enabled, .changeable = true),
};
#define COUNT ((int)(sizeof settings / sizeof settings[0]))
_Static_assert(COUNT <= SETTINGS_MAX, "the parser has room");

static bool read_whole(const struct setting *setting, const struct reading *reading, uint32_t *out)
{
    uint64_t number;
    if (!text_read_whole(reading, (uint64_t)setting->low, (uint64_t)setting->high, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool read_time(const struct setting *setting, const struct reading *reading, uint64_t unit_ns, uint64_t *out_ns)
{
    double units;
    if (!text_read_number(reading, setting->low, setting->high, &units))
        return false;
    *out_ns = (uint64_t)llround(units * (double)unit_ns);
    return true;
}

static bool read_text(const struct setting *setting, const struct reading *reading, char *out)
{
    size_t length = strlen(reading->value), longest = (size_t)setting->high;
    if (length == 0 || length > longest)
        return text_refuse(reading, "a text of 1 to %zu characters", longest);
    strcpy(out, reading->value);
    return true;
}

static bool read_device(const struct reading *reading, char *out)
{
    const char *name = reading->value;
    if (*name == '\0' || strlen(name) >= CONFIGURATION_DEVICE_BYTES || strpbrk(name, "/: \t%\"\\") != NULL ||
        *name == '.')
        return text_refuse(
            reading, "an interface name: 1 to 15 characters, no '/', ':', '%%', quotes or spaces, no dot first");
    strcpy(out, name);
    return true;
}

/* A path's name, which goes into requests and JSON as it is. */
static bool read_name(const struct reading *reading, char *out)
{
    size_t length = strlen(reading->value);
    if (length == 0 || length >= CONFIGURATION_NAME_BYTES || strspn(reading->value, LETTERS_AND_DIGITS "-_.") != length)
        return text_refuse(reading, "a name of 1 to 32 letters, digits, '-', '_' or '.'");
    strcpy(out, reading->value);
    return true;
}

static bool parse_address(const char *text, struct address *address)
{
    *address = (struct address){.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    return inet_pton(address->family, text, address->bytes) == 1;
}

static bool read_address(const struct reading *reading, struct address *out)
{
    struct address address;
    if (!parse_address(reading->value, &address))
        return text_refuse(reading, "an IPv4 or IPv6 address");
    *out = address;
    return true;
}

/* `text` is ADDRESS/LENGTH; changes it. */
static bool parse_network(char *text, struct address *address)
{
    char *prefix = text, error[256];
    const char *host = strsep(&prefix, "/");
    const struct reading reading = {.key = "", .value = prefix, .error = error, .error_size = sizeof error};
    uint64_t length;
    if (prefix == NULL || !parse_address(host, address) ||
        !text_read_whole(&reading, 0, address->family == AF_INET ? 32 : 128, &length))
        return false;
    address->prefix_length = (uint8_t)length;
    return true;
}

static bool read_addresses(const struct reading *reading, struct addresses *out)
{
    struct addresses addresses = {0};
    char text[CONFIGURATION_ADDRESSES_MAX * 64], *rest = text;
    bool is_good = strlen(reading->value) < sizeof text;
    snprintf(text, sizeof text, "%s", reading->value);
    for (char *word; is_good && (word = strsep(&rest, ", \t")) != NULL;)
        if (*word != '\0')
            is_good = addresses.count < CONFIGURATION_ADDRESSES_MAX &&
                      parse_network(word, &addresses.list[addresses.count++]);
    if (!is_good)
        return text_refuse(reading, "a list of at most %d addresses with prefix lengths: 10.99.0.1/24, fd99::1/64",
                             CONFIGURATION_ADDRESSES_MAX);
    *out = addresses;
    return true;
}

bool settings_apply(int number, const struct reading *reading, void *object)
{
    const struct setting *setting = &settings[number];
    void *member = (char *)object + setting->offset;
    switch (setting->kind) {
    case WHOLE: return read_whole(setting, reading, member);
    case NUMBER: return text_read_number(reading, setting->low, setting->high, member);
    case MILLISECONDS: return read_time(setting, reading, NS_PER_MS, member);
    case MICROSECONDS: return read_time(setting, reading, NS_PER_US, member);
    case SWITCH: return text_read_switch(reading, member);
    case CHOICE: return text_read_choice(reading, setting->words, member);
    case TEXT: return read_text(setting, reading, member);
    case DEVICE: return read_device(reading, member);
    case NAME: return read_name(reading, member);
    case ADDRESS: return read_address(reading, member);
    case ADDRESSES: return read_addresses(reading, member);
    }
    return false;
}

int settings_find(enum section section, bool changeable, const struct reading *reading)
{
    char known[256] = "";
    for (int i = 0; i < COUNT; i++) {
        if (settings[i].section != section || (changeable && !settings[i].changeable))
            continue;
        if (strcmp(settings[i].key, reading->key) == 0)
            return i;
        text_append(known, sizeof known, "%s%s", *known == '\0' ? "" : ", ", settings[i].key);
    }
    snprintf(reading->error, reading->error_size, "unknown key '%.64s': known are %s", reading->key, known);
    return -1;
}
