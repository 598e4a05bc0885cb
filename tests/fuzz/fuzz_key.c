/* Fuzz target: any bytes as a key file, of any mode. Claims that a key is taken only from a file that nobody else may
 * read, is as long as it must be, and signs. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "tunnel/configuration/configuration.h"

static int file_of(const void *bytes, size_t length, mode_t mode, char *path, size_t size)
{
    int file = memfd_create("file", MFD_CLOEXEC);
    CLAIM(file >= 0 && write(file, bytes, length) == (ssize_t)length && fchmod(file, mode) == 0);
    snprintf(path, size, "/proc/self/fd/%d", file);
    return file;
}

static void claim_key(const struct keepalive_key *key, mode_t mode)
{
    uint8_t mac[KEEPALIVE_MAC_BYTES];
    CLAIM((mode & 077) == 0);
    CLAIM(key->length >= KEEPALIVE_KEY_MIN && key->length <= sizeof key->bytes);
    CLAIM(key->bytes[key->length - 1] != '\n' && key->bytes[key->length - 1] != '\r');
    CLAIM(keepalive_mac(key, key->bytes, key->length, mac));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct configuration configuration;
    static struct report report;
    struct input input = {data, size};
    mode_t mode = (mode_t)input_number(&input, 2) & 0777;
    char key_path[64], path[64], text[512];
    int key_file = file_of(input.data, input.size, mode | 0400, key_path, sizeof key_path);
    int length = snprintf(text, sizeof text,
                          "[tunnel]\ndevice=mpt0\naddresses=10.9.0.1/24\nkey_file=%s\n[path]\nname=a\n"
                          "local=1.2.3.4\nremote=1.2.3.5\n",
                          key_path);
    int file = file_of(text, (size_t)length, 0600, path, sizeof path);
    report = (struct report){.path = path};
    if (configuration_read(&configuration, &report))
        claim_key(&configuration.key, mode);
    else
        CLAIM(report.mistakes == 1 && strstr(report.text, key_path) != NULL);
    close(file);
    close(key_file);
    return 0;
}
