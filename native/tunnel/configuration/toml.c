#include "tunnel/configuration/toml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
    int line;
    struct toml *toml;
    char *error;
};

/* Returns false, for callers to pass on. */
__attribute__((format(printf, 2, 3))) static bool fail(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error, TOML_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static char peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\n';
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
}

static bool at_end_of_line(struct reader *reader)
{
    if (peek(reader) == '#')
        while (reader->at < reader->end && *reader->at != '\n')
            reader->at++;
    if (peek(reader) == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n')
        reader->at++;
    return peek(reader) == '\n';
}

static bool end_line(struct reader *reader)
{
    skip_blanks(reader);
    if (!at_end_of_line(reader))
        return fail(reader, "a new line is missing before '%c'", *reader->at >= ' ' && *reader->at <= '~' ? *reader->at : '?');
    return true;
}

/* What is kept fits always: it is shorter than the file, and zeros take the place of quotes or separators. */
static void put(struct reader *reader, char c)
{
    if (reader->toml->used < TOML_TEXT_MAX)
        reader->toml->text[reader->toml->used++] = c;
}

static const char *start_text(const struct reader *reader)
{
    return reader->toml->text + reader->toml->used;
}

static bool read_bare(struct reader *reader, const char **text, const char *what)
{
    if (!is_bare(peek(reader)))
        return fail(reader, peek(reader) == '"' || peek(reader) == '\'' ? "%s in quotes is not supported here" : "%s is missing", what);
    *text = start_text(reader);
    while (is_bare(peek(reader)))
        put(reader, *reader->at++);
    put(reader, '\0');
    if (peek(reader) == '.')
        return fail(reader, "%s with a dot is not supported here", what);
    return true;
}

static bool read_escape(struct reader *reader)
{
    static const char codes[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    char code = peek(reader);
    const char *found = code == '\n' || code == '\0' ? NULL : strchr(codes, code);
    if (found == NULL)
        return fail(reader, "an escape other than \\b \\t \\n \\f \\r \\\" \\\\ is not supported here");
    put(reader, values[found - codes]);
    reader->at++;
    return true;
}

static bool read_string(struct reader *reader)
{
    char quote = *reader->at++;
    if (reader->end - reader->at >= 2 && reader->at[0] == quote && reader->at[1] == quote)
        return fail(reader, "a string of several lines is not supported here");
    while (peek(reader) != quote) {
        char c = peek(reader);
        if (c == '\n')
            return fail(reader, "the string does not end on its line");
        if ((unsigned char)c < ' ' && c != '\t')
            return fail(reader, "a control character in a string");
        reader->at++;
        if (c == '\\' && quote == '"') {
            if (!read_escape(reader))
                return false;
        } else {
            put(reader, c);
        }
    }
    reader->at++;
    put(reader, '\0');
    return true;
}

static void skip_lines(struct reader *reader)
{
    for (;;) {
        skip_blanks(reader);
        if (reader->at >= reader->end || !at_end_of_line(reader) || reader->at >= reader->end)
            return;
        reader->at++;
        reader->line++;
    }
}

static bool read_array(struct reader *reader, struct toml_entry *entry)
{
    reader->at++;
    entry->type = TOML_STRINGS;
    for (;;) {
        skip_lines(reader);
        if (reader->at >= reader->end)
            return fail(reader, "the array does not end");
        if (*reader->at == ']')
            break;
        if (*reader->at != '"' && *reader->at != '\'')
            return fail(reader, "only strings are supported in an array");
        if (!read_string(reader))
            return false;
        entry->count++;
        skip_lines(reader);
        if (peek(reader) == ',')
            reader->at++;
        else if (peek(reader) != ']')
            return fail(reader, "a comma or ']' is missing in the array");
    }
    reader->at++;
    return true;
}

/* Digits with single underscores between them go to `out`, without these. Returns false if they are elsewhere. */
static bool copy_digits(const char *word, char *out)
{
    for (const char *c = word; *c != '\0'; c++) {
        bool between = c > word && c[-1] >= '0' && c[-1] <= '9' && c[1] >= '0' && c[1] <= '9';
        if (*c == '_' && !between)
            return false;
        if (*c != '_')
            *out++ = *c;
    }
    *out = '\0';
    return true;
}

static bool read_number(struct reader *reader, const char *word, struct toml_entry *entry)
{
    char digits[64], *end;
    const char *unsigned_word = word + (*word == '-' || *word == '+');
    bool zero_first = unsigned_word[0] == '0' && unsigned_word[1] >= '0' && unsigned_word[1] <= '9';
    if (strspn(word, "0123456789+-_.eE") != strlen(word) || zero_first || *unsigned_word == '.' || !copy_digits(word, digits))
        return fail(reader, "'%s' is no value: a string needs quotes, and a date is not supported here", word);
    errno = 0;
    entry->whole = strtoll(digits, &end, 10);
    entry->type = TOML_WHOLE;
    entry->number = (double)entry->whole;
    if (*end != '\0') {
        entry->type = TOML_NUMBER;
        entry->number = strtod(digits, &end);
    }
    if (*end != '\0' || end == digits || end[-1] == '.' || errno == ERANGE)
        return fail(reader, "'%s' is not a number", word);
    return true;
}

static bool read_word(struct reader *reader, struct toml_entry *entry)
{
    char word[48];
    size_t length = 0;
    while (is_bare(peek(reader)) || peek(reader) == '+' || peek(reader) == '.' || peek(reader) == ':') {
        if (length + 1 == sizeof word)
            return fail(reader, "no value is so long without quotes");
        word[length++] = *reader->at++;
    }
    word[length] = '\0';
    if (length == 0)
        return fail(reader, peek(reader) == '{' ? "an inline table is not supported here" : "a value is missing");
    entry->type = TOML_BOOLEAN;
    entry->boolean = strcmp(word, "true") == 0;
    if (entry->boolean || strcmp(word, "false") == 0)
        return true;
    return read_number(reader, word, entry);
}

static bool read_value(struct reader *reader, struct toml_entry *entry)
{
    entry->text = start_text(reader);
    switch (peek(reader)) {
    case '"':
    case '\'':
        entry->type = TOML_STRING;
        return read_string(reader);
    case '[':
        return read_array(reader, entry);
    default:
        return read_word(reader, entry);
    }
}

static bool is_known_key(struct reader *reader, const struct toml_entry *entry)
{
    for (int i = 0; i < reader->toml->entry_count; i++) {
        const struct toml_entry *other = &reader->toml->entries[i];
        if (other->table == entry->table && strcmp(other->key, entry->key) == 0) {
            fail(reader, "'%.64s' is set already in line %d", entry->key, other->line);
            return true;
        }
    }
    return false;
}

static bool read_entry(struct reader *reader)
{
    struct toml *toml = reader->toml;
    struct toml_entry entry = {.table = toml->table_count - 1, .line = reader->line};
    if (!read_bare(reader, &entry.key, "a key"))
        return false;
    skip_blanks(reader);
    if (peek(reader) != '=')
        return fail(reader, "'=' is missing after '%.64s'", entry.key);
    reader->at++;
    skip_blanks(reader);
    if (!read_value(reader, &entry) || is_known_key(reader, &entry))
        return false;
    if (toml->entry_count == TOML_ENTRIES_MAX)
        return fail(reader, "more than %d settings", TOML_ENTRIES_MAX);
    toml->entries[toml->entry_count++] = entry;
    return end_line(reader);
}

/* A table is there once, unless it is one of an array. */
static bool is_known_table(struct reader *reader, const struct toml_table *table)
{
    for (int i = 0; i < reader->toml->table_count; i++) {
        const struct toml_table *other = &reader->toml->tables[i];
        if (strcmp(other->name, table->name) == 0 && !(other->in_array && table->in_array)) {
            fail(reader, "the table '%.64s' is there already, in line %d", table->name, other->line);
            return true;
        }
    }
    return false;
}

static bool read_header(struct reader *reader)
{
    struct toml *toml = reader->toml;
    struct toml_table table = {.line = reader->line};
    reader->at++;
    table.in_array = peek(reader) == '[';
    reader->at += table.in_array;
    skip_blanks(reader);
    if (!read_bare(reader, &table.name, "a table's name"))
        return false;
    skip_blanks(reader);
    for (int i = 0; i <= table.in_array; i++, reader->at++)
        if (peek(reader) != ']')
            return fail(reader, "%s is missing after '%.64s'", table.in_array ? "']]'" : "']'", table.name);
    if (is_known_table(reader, &table))
        return false;
    if (toml->table_count == TOML_TABLES_MAX)
        return fail(reader, "more than %d tables", TOML_TABLES_MAX);
    toml->tables[toml->table_count++] = table;
    return end_line(reader);
}

int toml_read(const char *text, size_t length, struct toml *toml, char *error)
{
    struct reader reader = {.at = text, .end = text + length, .line = 1, .toml = toml, .error = error};
    if (length > TOML_TEXT_MAX / 2) {
        fail(&reader, "the file has more than %u bytes", TOML_TEXT_MAX / 2);
        return 1;
    }
    toml->entry_count = 0;
    toml->used = 0;
    toml->tables[0] = (struct toml_table){.name = "", .line = 1};
    toml->table_count = 1;
    for (;;) {
        skip_lines(&reader);
        if (reader.at >= reader.end)
            return 0;
        if (!(*reader.at == '[' ? read_header(&reader) : read_entry(&reader)))
            return reader.line;
    }
}
