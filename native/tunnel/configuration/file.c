#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunnel/configuration/configuration.h"

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
