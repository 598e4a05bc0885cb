#include "tunnel/configuration/configuration.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "tunnel/configuration/settings.h"
#include "tunnel/data/gre.h"

#define BLANKS " \t\r"
/* Twice the shortest interval of plain keepalives. */
#define PLAIN_DEAD_MIN_MS 2000

struct parser {
    struct configuration *configuration;
    struct report *report;
    int line;
    int section_lines[SECTIONS]; /* where each section began first; 0 if it is missing */
    bool in_section;
    enum section section;
    void *object; /* target of its settings; NULL if its header is wrong, so that they are ignored */
    int key_lines[SETTINGS_MAX]; /* where each key was set; 0 if it was not */
};

void report_mistake(struct report *report, int line, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    for (char *c = message; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?'; /* the file may hold anything, and this goes to a terminal */
    report->mistakes++;
    char *end = report->text + strlen(report->text);
    text_append(report->text, sizeof report->text, "%s:%d: %s\n", report->path, line, message);
    if (report->text[strlen(report->text) - 1] != '\n')
        *end = '\0'; /* no part of a line that does not fit */
}

/* Cuts off the blanks at both ends. */
static char *strip(char *text)
{
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static struct path_configuration *add_path(struct parser *parser)
{
    struct configuration *configuration = parser->configuration;
    if (configuration->path_count == PATHS_MAX) {
        report_mistake(parser->report, parser->line, "more than %d paths", PATHS_MAX);
        return NULL;
    }
    struct path_configuration *path = &configuration->paths[configuration->path_count++];
    *path = (struct path_configuration){.changeable = {.weight = 1, .enabled = true}, .line = parser->line};
    snprintf(path->name, sizeof path->name, "path%d", configuration->path_count);
    return path;
}

static void begin_section(struct parser *parser, enum section section)
{
    int *first_line = &parser->section_lines[section];
    memset(parser->key_lines, 0, sizeof parser->key_lines);
    parser->section = section;
    parser->object = section == SECTION_PATH ? (void *)add_path(parser) : parser->configuration;
    if (*first_line == 0)
        *first_line = parser->line;
    else if (section != SECTION_PATH)
        report_mistake(parser->report, parser->line, "[%s] is already in line %d", settings_sections[section],
                       *first_line);
}

static void read_header(struct parser *parser, char *header)
{
    size_t length = strlen(header);
    parser->in_section = true;
    parser->object = NULL;
    if (header[length - 1] != ']') {
        report_mistake(parser->report, parser->line, "']' is missing at the end of '%.64s'", header);
        return;
    }
    header[length - 1] = '\0';
    const char *name = strip(header + 1);
    enum section section = 0;
    while (section < SECTIONS && strcmp(settings_sections[section], name) != 0)
        section++;
    if (section < SECTIONS)
        begin_section(parser, section);
    else
        report_mistake(parser->report, parser->line,
                       "unknown section [%.64s]: known are tunnel, scheduling, reordering, keepalive, path", name);
}

static void read_setting(struct parser *parser, char *text)
{
    char error[512] = "", *value = text;
    const char *key = strip(strsep(&value, "="));
    struct reading reading = {
        .key = key, .value = value == NULL ? "" : strip(value), .error = error, .error_size = sizeof error};
    int number = parser->object == NULL || value == NULL ? -1 : settings_find(parser->section, false, &reading);
    if (value == NULL)
        snprintf(error, sizeof error, "'=' is missing after '%.64s'", key);
    else if (!parser->in_section)
        snprintf(error, sizeof error, "'%.64s' stands before the first section", key);
    else if (number >= 0 && parser->key_lines[number] != 0)
        snprintf(error, sizeof error, "'%s' is already set in line %d", key, parser->key_lines[number]);
    else if (number >= 0 && settings_apply(number, &reading, parser->object))
        parser->key_lines[number] = parser->line;
    if (*error != '\0')
        report_mistake(parser->report, parser->line, "%s", error);
}

/* A comment begins with '#' at the start of a line or after a blank. */
static void cut_comment(char *line)
{
    for (char *c = line; *c != '\0'; c++) {
        if (*c == '#' && (c == line || strchr(BLANKS, c[-1]) != NULL)) {
            *c = '\0';
            return;
        }
    }
}

static void read_line(struct parser *parser, char *line)
{
    parser->line++;
    cut_comment(line);
    line = strip(line);
    if (*line == '[')
        read_header(parser, line);
    else if (*line != '\0')
        read_setting(parser, line);
}

static bool is_same_address(const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static void check_path(const struct configuration *configuration, int number, struct report *report)
{
    const struct path_configuration *path = &configuration->paths[number];
    if (path->local.family == 0 || path->remote.family == 0)
        report_mistake(report, path->line, "path '%s': %s is missing", path->name,
                       path->local.family == 0 ? "local" : "remote");
    else if (path->local.family != path->remote.family)
        report_mistake(report, path->line, "path '%s': local and remote are of different families", path->name);
    else if (is_same_address(&path->local, &path->remote))
        report_mistake(report, path->line, "path '%s': local and remote are the same address", path->name);
    for (int i = 0; i < number; i++) {
        const struct path_configuration *other = &configuration->paths[i];
        if (strcmp(path->name, other->name) == 0)
            report_mistake(report, path->line, "the path in line %d is called '%s', too", other->line, path->name);
        if (path->local.family != 0 && is_same_address(&path->local, &other->local) &&
            is_same_address(&path->remote, &other->remote))
            report_mistake(report, path->line, "path '%s' has the addresses of the path in line %d", path->name,
                           other->line);
    }
}

static bool has_ipv6(const struct addresses *addresses)
{
    for (int i = 0; i < addresses->count; i++)
        if (addresses->list[i].family == AF_INET6)
            return true;
    return false;
}

/* The line to name for a section. */
static int line_of(const struct parser *parser, int section)
{
    return parser->section_lines[section] != 0 ? parser->section_lines[section] : 1;
}

/* Checks what depends on several settings. */
static void check_together(const struct parser *parser)
{
    const struct configuration *configuration = parser->configuration;
    struct report *report = parser->report;
    int tunnel = line_of(parser, SECTION_TUNNEL), scheduling = line_of(parser, SECTION_SCHEDULING);
    if (configuration->device[0] == '\0')
        report_mistake(report, tunnel, "[tunnel] device is missing");
    if (configuration->path_count == 0)
        report_mistake(report, 1, "[path] is missing");
    if (configuration->keepalives && configuration->key_file[0] == '\0')
        report_mistake(report, tunnel,
                       "[tunnel] key_file is missing; keepalives need it ([keepalive] enabled = false: no keepalives)");
    if (configuration->mtu != 0 && configuration->mtu < 1280 && has_ipv6(&configuration->addresses))
        report_mistake(report, tunnel, "[tunnel] mtu: an IPv6 address needs at least 1280");
    if (configuration->dead_ns < 2 * configuration->interval_ns)
        report_mistake(report, line_of(parser, SECTION_KEEPALIVE),
                       "[keepalive] dead_ms must be at least twice interval_ms");
    if (configuration->keepalives && configuration->answer_plain)
        report_mistake(report, line_of(parser, SECTION_KEEPALIVE),
                       "[keepalive] answer_plain needs enabled = false: the peer has one kind of keepalives");
    if (configuration->answer_plain && configuration->dead_ns < PLAIN_DEAD_MIN_MS * NS_PER_MS)
        report_mistake(report, line_of(parser, SECTION_KEEPALIVE),
                       "[keepalive] answer_plain needs dead_ms = %d or more: these come once a second at most",
                       PLAIN_DEAD_MIN_MS);
    if (!configuration->keepalives && configuration->scheduler == SCHEDULER_RTT)
        report_mistake(report, scheduling,
                       "[scheduling] scheduler = rtt needs keepalives, which measure the round trip");
    if (!configuration->keepalives && configuration->weights == WEIGHTS_ADAPTIVE)
        report_mistake(report, scheduling,
                       "[scheduling] weights = adaptive needs keepalives, which measure queues and losses");
    if (configuration->scheduler == SCHEDULER_REDUNDANT && configuration->reordering == REORDERING_OFF)
        report_mistake(report, line_of(parser, SECTION_REORDERING),
                       "[scheduling] scheduler = redundant needs [reordering]: sequence numbers identify duplicates");
    for (int i = 0; i < configuration->path_count; i++)
        check_path(configuration, i, report);
}

static const struct configuration defaults = {
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

bool configuration_parse(const char *text, size_t length, struct configuration *configuration, struct report *report)
{
    static char copy[CONFIGURATION_TEXT_MAX + 1];
    struct parser parser = {.configuration = configuration, .report = report};
    *configuration = defaults;
    if (length > CONFIGURATION_TEXT_MAX || memchr(text, '\0', length) != NULL) {
        report_mistake(report, 1, "this is not a text of at most %u bytes", CONFIGURATION_TEXT_MAX);
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;)
        read_line(&parser, line);
    /* A wrong value must not be reported as missing as well. */
    if (report->mistakes == 0)
        check_together(&parser);
    configuration->line = line_of(&parser, SECTION_TUNNEL);
    return report->mistakes == 0;
}

bool configuration_change_path(struct path_changeable *changeable, char *text, char *error, size_t error_size)
{
    struct path_configuration changed = {.changeable = *changeable};
    for (char *value; (value = strsep(&text, ",")) != NULL;) {
        const char *key = strsep(&value, "=");
        const struct reading reading = {.key = key, .value = value, .error = error, .error_size = error_size};
        int number = settings_find(SECTION_PATH, true, &reading);
        if (number < 0)
            return false;
        if (value == NULL) {
            snprintf(error, error_size, "'%.64s' is not KEY=VALUE", key);
            return false;
        }
        if (!settings_apply(number, &reading, &changed))
            return false;
    }
    *changeable = changed.changeable;
    return true;
}

/* Reads at most `size` bytes. Returns their number, or -1 with errno. */
static ssize_t read_file(const char *path, void *bytes, size_t size, struct stat *status)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 && fstat(fd, status) == 0 ? read(fd, bytes, size) : -1;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return length;
}

/* A relative path starts in the folder of the configuration. */
static void resolve(const char *configuration_path, const char *name, char *path, size_t size)
{
    const char *slash = strrchr(configuration_path, '/');
    int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash - configuration_path) + 1;
    snprintf(path, size, "%.*s%s", folder, configuration_path, name);
}

static void read_key(struct configuration *configuration, struct report *report)
{
    struct keepalive_key *key = &configuration->key;
    char path[CONFIGURATION_PATH_BYTES * 2];
    struct stat status;
    resolve(report->path, configuration->key_file, path, sizeof path);
    ssize_t length = read_file(path, key->bytes, sizeof key->bytes, &status);
    if (length < 0) {
        report_mistake(report, configuration->line, "cannot read '%.200s': %s", path, strerror(errno));
        return;
    }
    while (length > 0 && (key->bytes[length - 1] == '\n' || key->bytes[length - 1] == '\r'))
        length--;
    key->length = (size_t)length;
    if ((status.st_mode & 077) != 0)
        report_mistake(report, configuration->line,
                       "others may read or change the key file '%.200s': run `chmod 600 %.100s`", path, path);
    else if (key->length < KEEPALIVE_KEY_MIN)
        report_mistake(report, configuration->line,
                       "the key file '%.200s' has less than %u bytes: make one with "
                       "`openssl rand -hex 32`",
                       path, KEEPALIVE_KEY_MIN);
}

bool configuration_read(struct configuration *configuration, struct report *report)
{
    static char text[CONFIGURATION_TEXT_MAX + 1];
    struct stat status;
    ssize_t length = read_file(report->path, text, sizeof text, &status);
    if (length < 0) {
        report_mistake(report, 1, "cannot read the file: %s", strerror(errno));
        return false;
    }
    configuration_parse(text, (size_t)length, configuration, report);
    if (configuration->key_file[0] != '\0')
        read_key(configuration, report);
    return report->mistakes == 0;
}
