/* Fuzz target: any bytes as a configuration file. Claims that each complaint is a line that names one, and that what is found good
 * keeps to the limits that the tunnel relies on. */
#include "fuzz.h"
#include "tunnel/configuration/configuration.h"

static void claim_lines(const char *report)
{
    for (const char *end; *report != '\0'; report = end + 1) {
        CLAIM(strncmp(report, "file:", 5) == 0);
        CLAIM(report[5] >= '1' && report[5] <= '9');
        end = strchr(report, '\n');
        if (end == NULL)
            return; /* cut off where the report is full */
    }
}

static void claim_usable(const struct configuration *found)
{
    CLAIM(found->path_count >= 1 && found->path_count <= PATHS_MAX);
    CLAIM(found->device[0] != '\0' && strlen(found->device) < CONFIGURATION_DEVICE_BYTES);
    CLAIM(found->address_count <= CONFIGURATION_ADDRESSES_MAX);
    CLAIM(found->port > 0 && found->window >= 64 && found->window <= 65536);
    CLAIM(found->interval_ns > 0 && found->dead_ns >= 2 * found->interval_ns && found->recover > 0);
    for (int i = 0; i < found->path_count; i++) {
        const struct path_configuration *path = &found->paths[i];
        CLAIM(path->weight >= 0.001 && path->weight <= 1e6);
        CLAIM(path->name[0] != '\0' && strpbrk(path->name, " \"\\,") == NULL);
        CLAIM(path->local.family != 0 && path->local.family == path->remote.family);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct configuration configuration;
    static char report[16384];
    int mistakes = configuration_parse("file", (const char *)data, size, &configuration, report, sizeof report);
    CLAIM((mistakes == 0) == (report[0] == '\0'));
    claim_lines(report);
    if (mistakes == 0)
        claim_usable(&configuration);
    return 0;
}
