#include "tunnel/configuration/values.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define NS_PER_MS 1000000
#define MESSAGE_BYTES 400

void values_complain(struct check *check, int line, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    check->mistakes++;
    text_append(check->report, check->size, "%s:%d: %s\n", check->path, line, message);
}

bool values_is(struct check *check, const struct toml_entry *entry, enum toml_type type)
{
    static const char *const names[] = {"a string", "a whole number", "a number", "true or false", "an array of strings"};
    bool whole_for_number = type == TOML_NUMBER && entry->type == TOML_WHOLE;
    if (entry->type != type && !whole_for_number)
        values_complain(check, entry->line, "%s must be %s", entry->key, names[type]);
    return entry->type == type || whole_for_number;
}

bool values_whole(struct check *check, const struct toml_entry *entry, int64_t low, int64_t high, int64_t *value)
{
    if (!values_is(check, entry, TOML_WHOLE))
        return false;
    *value = entry->whole;
    if (entry->whole < low || entry->whole > high)
        values_complain(check, entry->line, "%s: %lld is not from %lld to %lld", entry->key, (long long)entry->whole, (long long)low,
                 (long long)high);
    return entry->whole >= low && entry->whole <= high;
}

void values_milliseconds(struct check *check, const struct toml_entry *entry, double low, double high, uint64_t *ns)
{
    if (!values_is(check, entry, TOML_NUMBER))
        return;
    if (!(entry->number >= low && entry->number <= high))
        values_complain(check, entry->line, "%s: %g is not from %g to %g", entry->key, entry->number, low, high);
    else
        *ns = (uint64_t)llround(entry->number * (double)NS_PER_MS);
}

void values_boolean(struct check *check, const struct toml_entry *entry, bool *value)
{
    if (values_is(check, entry, TOML_BOOLEAN))
        *value = entry->boolean;
}

/* `names` ends with NULL. */
void values_choice(struct check *check, const struct toml_entry *entry, const char *const *names, int *value)
{
    char known[128] = "";
    if (!values_is(check, entry, TOML_STRING))
        return;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], entry->text) == 0) {
            *value = i;
            return;
        }
        text_append(known, sizeof known, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    values_complain(check, entry->line, "%s: '%.64s' is unknown; choose one of %s", entry->key, entry->text, known);
}

void values_text(struct check *check, const struct toml_entry *entry, char *out, size_t size)
{
    if (!values_is(check, entry, TOML_STRING))
        return;
    if (entry->text[0] == '\0' || strlen(entry->text) >= size)
        values_complain(check, entry->line, "%s: must have 1 to %zu characters", entry->key, size - 1);
    else
        strcpy(out, entry->text);
}

void values_device(struct check *check, const struct toml_entry *entry, char *out)
{
    if (!values_is(check, entry, TOML_STRING))
        return;
    size_t length = strlen(entry->text);
    if (length == 0 || length >= CONFIGURATION_DEVICE_BYTES || strpbrk(entry->text, "/: \t\n%\"\\") || entry->text[0] == '.')
        values_complain(check, entry->line, "%s: '%.64s' is not an interface name: 1 to 15 characters, no '/', ':', '%%', quotes or "
                 "spaces, no dot first", entry->key, entry->text);
    else
        strcpy(out, entry->text);
}

/* It goes into JSON and into requests as it is. */
void values_name(struct check *check, const struct toml_entry *entry, char *out)
{
    if (!values_is(check, entry, TOML_STRING))
        return;
    size_t length = strlen(entry->text), allowed = strspn(entry->text, "abcdefghijklmnopqrstuvwxyz"
                                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    if (length == 0 || length >= CONFIGURATION_NAME_BYTES || allowed != length)
        values_complain(check, entry->line, "%s: '%.64s' must be 1 to 32 letters, digits, '-', '_' or '.'", entry->key, entry->text);
    else
        strcpy(out, entry->text);
}

static bool parse_address(const char *text, struct address *address)
{
    address->family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
    return inet_pton(address->family, text, address->bytes) == 1;
}

void values_address(struct check *check, const struct toml_entry *entry, struct address *address)
{
    if (!values_is(check, entry, TOML_STRING))
        return;
    struct address read = {0};
    if (parse_address(entry->text, &read))
        *address = read;
    else
        values_complain(check, entry->line, "%s: '%.64s' is not an IPv4 or IPv6 address", entry->key, entry->text);
}

static bool parse_network(const char *text, struct address *address)
{
    char host[64], *slash, *end;
    if (strlen(text) >= sizeof host)
        return false;
    strcpy(host, text);
    if ((slash = strchr(host, '/')) == NULL || slash[1] < '0' || slash[1] > '9')
        return false;
    *slash = '\0';
    unsigned long prefix = strtoul(slash + 1, &end, 10);
    if (*end != '\0' || !parse_address(host, address) || prefix > (address->family == AF_INET ? 32 : 128))
        return false;
    address->prefix_length = (uint8_t)prefix;
    return true;
}

void values_networks(struct check *check, const struct toml_entry *entry)
{
    struct configuration *out = check->out;
    if (!values_is(check, entry, TOML_STRINGS))
        return;
    if (entry->count > CONFIGURATION_ADDRESSES_MAX) {
        values_complain(check, entry->line, "%s: more than %d", entry->key, CONFIGURATION_ADDRESSES_MAX);
        return;
    }
    const char *text = entry->text;
    for (int i = 0; i < entry->count; i++, text += strlen(text) + 1) {
        if (parse_network(text, &out->addresses[out->address_count]))
            out->address_count++;
        else
            values_complain(check, entry->line, "%s: '%.64s' is not an address with its prefix length, as 10.99.0.1/24 or fd99::1/64",
                     entry->key, text);
    }
}
