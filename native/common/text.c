#include "common/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

void text_sanitise(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            *text = '?';
}

bool text_refuse(const struct reading *reading, const char *expected, ...)
{
    char end[256];
    va_list arguments;
    va_start(arguments, expected);
    vsnprintf(end, sizeof end, expected, arguments);
    va_end(arguments);
    snprintf(reading->error, reading->error_size, "%s: '%.200s' is not %s", reading->key, reading->value, end);
    return false;
}

bool text_read_whole(const struct reading *reading, uint64_t low, uint64_t high, uint64_t *out)
{
    const char *value = reading->value;
    bool is_plain = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    errno = 0;
    uint64_t number = is_plain ? strtoull(value, NULL, 10) : 0;
    if (!is_plain || errno != 0 || number < low || number > high)
        return text_refuse(reading, "a whole number from %" PRIu64 " to %" PRIu64, low, high);
    *out = number;
    return true;
}

bool text_read_number(const struct reading *reading, double low, double high, double *out)
{
    const char *value = reading->value;
    char *end = NULL;
    /* strtod() would also read nan, infinity and hexadecimal numbers. */
    bool is_plain = *value != '\0' && value[strspn(value, "0123456789.eE+-")] == '\0';
    double number = is_plain ? strtod(value, &end) : 0;
    if (!is_plain || *end != '\0' || !(number >= low && number <= high))
        return text_refuse(reading, "a number from %.10g to %.10g", low, high);
    *out = number;
    return true;
}

bool text_read_switch(const struct reading *reading, bool *out)
{
    bool is_true = strcmp(reading->value, "true") == 0 || strcmp(reading->value, "1") == 0;
    if (!is_true && strcmp(reading->value, "false") != 0 && strcmp(reading->value, "0") != 0)
        return text_refuse(reading, "true or false");
    *out = is_true;
    return true;
}

bool text_read_choice(const struct reading *reading, const char *const *words, unsigned *out)
{
    char expected[128] = "";
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], reading->value) == 0) {
            *out = i;
            return true;
        }
        text_append(expected, sizeof expected, " %s", words[i]);
    }
    return text_refuse(reading, "one of:%s", expected);
}
