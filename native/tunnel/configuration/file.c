#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "tunnel/configuration/configuration.h"
#include "tunnel/configuration/toml.h"
#include "tunnel/configuration/values.h"

#define MESSAGE_BYTES 400

/* Files, and what they may not be. Returns false with a sentence in `error`. */

static bool read_whole(const char *path, char *out, size_t size, size_t *length, struct stat *status, char *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool opened = fd >= 0 && fstat(fd, status) == 0;
    ssize_t got = opened ? read(fd, out, size) : -1;
    if (got < 0)
        snprintf(error, MESSAGE_BYTES, "cannot read '%.200s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    *length = got < 0 ? 0 : (size_t)got;
    return got >= 0;
}

/* Relative to the folder of the configuration. */
static void resolve(const char *configuration_path, const char *name, char *out, size_t size)
{
    const char *slash = strrchr(configuration_path, '/');
    int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash - configuration_path) + 1;
    snprintf(out, size, "%.*s%s", folder, configuration_path, name);
}

static bool read_key(const char *path, struct keepalive_key *key, char *error)
{
    struct stat status;
    if (!read_whole(path, (char *)key->bytes, sizeof key->bytes, &key->length, &status, error))
        return false;
    while (key->length > 0 && (key->bytes[key->length - 1] == '\n' || key->bytes[key->length - 1] == '\r'))
        key->length--;
    if ((status.st_mode & 077) != 0)
        snprintf(error, MESSAGE_BYTES, "others may read or change the key file '%.200s': run `chmod 600 %.100s`", path, path);
    else if (key->length < KEEPALIVE_KEY_MIN)
        snprintf(error, MESSAGE_BYTES, "the key file '%.200s' holds less than %u bytes: make one with "
                 "`openssl rand -hex 32`", path, KEEPALIVE_KEY_MIN);
    else
        return true;
    return false;
}

int configuration_read(const char *path, struct configuration *configuration, char *report, size_t size)
{
    static char text[TOML_TEXT_MAX];
    char error[MESSAGE_BYTES], key_path[CONFIGURATION_PATH_BYTES * 2];
    struct check check = {.path = path, .report = report, .size = size, .out = configuration};
    struct stat status;
    size_t length;

    report[0] = '\0';
    if (!read_whole(path, text, sizeof text, &length, &status, error)) {
        text_append(report, size, "%s\n", error);
        return 1;
    }
    check.mistakes = configuration_parse(path, text, length, configuration, report, size);
    if (configuration->key_file[0] == '\0')
        return check.mistakes;
    resolve(path, configuration->key_file, key_path, sizeof key_path);
    if (!read_key(key_path, &configuration->key, error))
        values_complain(&check, 1, "%s", error);
    return check.mistakes;
}
