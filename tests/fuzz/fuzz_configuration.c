/* Fuzz target: any bytes as a configuration file. Claims that each mistake is reported with a line, and that a
 * configuration without mistakes keeps to the limits that the tunnel relies on. */
#include "fuzz.h"
#include "tunnel/configuration/configuration.h"

static void claim_lines(const char *text)
{
    for (const char *end; *text != '\0'; text = end + 1) {
        CLAIM(strncmp(text, "file:", 5) == 0);
        CLAIM(text[5] >= '1' && text[5] <= '9');
        CLAIM(text[strcspn(text, "\033\r")] == '\0');
        end = strchr(text, '\n');
        CLAIM(end != NULL);
    }
}

static void claim_usable(const struct configuration *configuration)
{
    CLAIM(configuration->path_count >= 1 && configuration->path_count <= PATHS_MAX);
    CLAIM(configuration->device[0] != '\0' && strlen(configuration->device) < CONFIGURATION_DEVICE_BYTES);
    CLAIM(configuration->addresses.count <= CONFIGURATION_ADDRESSES_MAX);
    CLAIM(configuration->port > 0 && configuration->window >= 64 && configuration->window <= 65536);
    CLAIM(configuration->interval_ns > 0 && configuration->dead_ns >= 2 * configuration->interval_ns &&
          configuration->recover > 0);
    for (int i = 0; i < configuration->path_count; i++) {
        const struct path_configuration *path = &configuration->paths[i];
        CLAIM(path->changeable.weight >= 0.001 && path->changeable.weight <= 1e6);
        CLAIM(path->name[0] != '\0' && strpbrk(path->name, " \"\\,") == NULL);
        CLAIM(path->local.family != 0 && path->local.family == path->remote.family);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct configuration configuration;
    static struct report report;
    report = (struct report){.path = "file"};
    bool is_good = configuration_parse((const char *)data, size, &configuration, &report);
    CLAIM(is_good == (report.mistakes == 0) && is_good == (report.text[0] == '\0'));
    claim_lines(report.text);
    if (is_good)
        claim_usable(&configuration);
    return 0;
}
