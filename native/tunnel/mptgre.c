/* mptgre: a multipath tunnel, GRE in UDP. This file is its command line and its life; see tunnel/tunnel.h for the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/lifecycle.h"
#include "tunnel/configuration/configuration.h"
#include "tunnel/management.h"
#include "tunnel/requests.h"
#include "tunnel/status.h"
#include "tunnel/tunnel.h"

#define ERROR_BYTES 512
#define REPORT_BYTES 16384

static const char help[] =
    "mptgre - a tunnel over several paths at once: GRE in UDP (RFC 8086), for any IPv4 or IPv6 traffic over any mix of both\n"
    "\n"
    "  mptgre run FILE                     the tunnel, until SIGTERM, SIGINT or the end of the thread that started it; prints\n"
    "                                      `ready` when its device is there (whether the peer answers: `mptgre status`)\n"
    "  mptgre check FILE                   what is wrong with a configuration, line by line\n"
    "  mptgre status FILE [--json]         a running tunnel's paths and counters\n"
    "  mptgre set FILE PATH KEY=VALUE,...  changes a path of a running tunnel: weight=2.5, backup=0|1, enabled=0|1\n"
    "\n"
    "FILE is TOML (comments, tables, strings, numbers, booleans, arrays of strings). At both ends the paths are in the same order:\n"
    "\n"
    "  [tunnel]\n"
    "  device = \"mpt0\"                     # the interface that appears\n"
    "  addresses = [\"10.99.0.1/24\", \"fd99::1/64\"]\n"
    "  key_file = \"tunnel.key\"             # beside this file, mode 600; make one with: openssl rand -hex 32\n"
    "  control = \"/run/mptgre.sock\"        # for status and set\n"
    "  port = 4754                         # UDP, at both ends\n"
    "  mtu = 1464                          # at most; absent: what the paths allow, and it follows them\n"
    "  clamp_mss = true                    # TCP connections that pass announce segments that fit\n"
    "  offloads = true                     # false: one packet a call\n"
    "  [scheduling]\n"
    "  scheduler = \"wrr\"                   # wrr (by weight), rtt (first to arrive), redundant (on every path), flowhash\n"
    "  run = 0                             # wrr: packets in a row on a path; 0: by the rate\n"
    "  weights = \"fixed\"                   # adaptive: by measured queues and losses\n"
    "  [reordering]\n"
    "  mode = \"adaptive\"                   # off (no sequence numbers), fixed (a missing packet is waited for max_delay_ms),\n"
    "                                      # adaptive (until each path has brought a later one; with wrr, what came by a\n"
    "                                      # shorter path waits as long as a longer one takes)\n"
    "  window = 16384                      # packets\n"
    "  max_delay_ms = 200\n"
    "  [keepalive]\n"
    "  enabled = true                      # false: every path is taken to be up; for peers that do not speak this\n"
    "  interval_ms = 100\n"
    "  dead_ms = 500                       # a path that is silent for so long is down\n"
    "  recover = 3                         # messages in a row that bring it up\n"
    "  [[path]]\n"
    "  name = \"a\"\n"
    "  local = \"192.0.2.1\"\n"
    "  remote = \"192.0.2.2\"\n"
    "  device = \"eth0\"                     # leave through this interface; absent: as the routes say\n"
    "  weight = 1\n"
    "  backup = false                      # only while no other path is up\n"
    "  enabled = true\n"
    "\n"
    "All but device, key_file, local and remote have these defaults. On the wire: UDP, then GRE of 4 bytes, or of 8 with a sequence\n"
    "number if reordering is on; data as MPT-GRE's reference implementation has it. Keepalives are authenticated; data is neither\n"
    "authenticated nor encrypted.\n"
    "Exit codes: 0 stopped; 1 the device was deleted, or no tunnel answers; 2 usage or configuration; 3 the machine lacks something.\n";

static int fail(int code, const char *sentence)
{
    fprintf(stderr, "mptgre: %s\n", sentence);
    return code;
}

/* Returns whether it is right; else says what is not. */
static bool read_configuration(const char *path, struct configuration *configuration)
{
    static char report[REPORT_BYTES];
    int mistakes = configuration_read(path, configuration, report, sizeof report);
    fputs(report, stderr);
    return mistakes == 0;
}

static int check(const char *path)
{
    static struct configuration configuration;
    if (!read_configuration(path, &configuration))
        return EXIT_USAGE;
    printf("%s: good; %d path%s\n", path, configuration.path_count, configuration.path_count == 1 ? "" : "s");
    return EXIT_SUCCESS;
}

static int serve(const struct configuration *configuration, int listen_fd, int stop_fd)
{
    static struct tunnel tunnel;
    char error[ERROR_BYTES];
    const struct control_handler handler = {.context = &tunnel,
                                            .answer = requests_answer,
                                            .next_due = management_next_due,
                                            .run_due = management_run_due};
    if (!tunnel_open(&tunnel, configuration, error, sizeof error))
        return fail(EXIT_MISSING, error);
    management_begin(&tunnel);
    if (tunnel_start(&tunnel) != 0)
        return fail(EXIT_MISSING, "cannot start a thread; raise `ulimit -u`");
    tunnel_take_precedence(); /* a keepalive that waits for a processor looks like a dead path */
    /* If nobody reads this any more, nobody will stop the tunnel either. */
    if (puts("ready") != EOF && fflush(stdout) == 0)
        control_serve(listen_fd, stop_fd, &handler);
    tunnel_still(&tunnel);
    return tunnel.ended ? fail(EXIT_BROKEN, "the device was deleted; the tunnel ends") : EXIT_SUCCESS;
}

static int run(const char *path)
{
    static struct configuration configuration;
    char error[ERROR_BYTES];
    int listen_fd = -1;
    if (!read_configuration(path, &configuration))
        return EXIT_USAGE;
    int stop_fd = lifecycle_stop_fd();
    lifecycle_end_with_parent();
    if (configuration.control[0] != '\0' && (listen_fd = control_listen(configuration.control, error, sizeof error)) < 0)
        return fail(EXIT_MISSING, error);
    int code = serve(&configuration, listen_fd, stop_fd);
    if (configuration.control[0] != '\0')
        unlink(configuration.control);
    return code;
}

/* `request` is what control_listen()'s other end understands. */
static int ask(const char *path, const char *request, bool as_json)
{
    static struct configuration configuration;
    char error[ERROR_BYTES];
    if (!read_configuration(path, &configuration))
        return EXIT_USAGE;
    if (configuration.control[0] == '\0')
        return fail(EXIT_USAGE, "[tunnel] control is not set: a running tunnel cannot be asked");
    return status_ask(configuration.control, request, as_json, error, sizeof error) ? EXIT_SUCCESS : fail(EXIT_BROKEN, error);
}

static int set(const char *file, const char *path, const char *settings)
{
    char request[1024];
    if ((size_t)snprintf(request, sizeof request, "set %s %s", path, settings) >= sizeof request)
        return fail(EXIT_USAGE, "that is too long");
    return ask(file, request, true);
}

int main(int count, char **arguments)
{
    const char *command = count > 1 ? arguments[1] : "";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    if (count == 3 && strcmp(command, "run") == 0)
        return run(arguments[2]);
    if (count == 3 && strcmp(command, "check") == 0)
        return check(arguments[2]);
    if (count == 3 && strcmp(command, "status") == 0)
        return ask(arguments[2], "stats", false);
    if (count == 4 && strcmp(command, "status") == 0 && strcmp(arguments[3], "--json") == 0)
        return ask(arguments[2], "stats", true);
    if (count == 5 && strcmp(command, "set") == 0)
        return set(arguments[2], arguments[3], arguments[4]);
    return fail(EXIT_USAGE, "usage: mptgre run|check|status|set FILE ...; see mptgre --help");
}
