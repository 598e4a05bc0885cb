/* mptgre: a multipath tunnel, GRE in UDP. This file is its command line; see tunnel/tunnel.h for the tunnel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/lifecycle.h"
#include "tunnel/configuration/configuration.h"
#include "tunnel/requests.h"
#include "tunnel/tunnel.h"

#define ERROR_BYTES 512

static const char help[] =
    "mptgre - a tunnel over several paths at once: GRE in UDP (RFC 8086), for IPv4 and IPv6 over both\n"
    "\n"
    "  mptgre run FILE                     runs the tunnel until SIGTERM, SIGINT, SIGHUP or the end of the thread\n"
    "                                      that started it; prints `ready` when its interface is up, whether or\n"
    "                                      not the peer answers (see `mptgre status`)\n"
    "  mptgre check FILE                   lists the mistakes in a configuration by line\n"
    "  mptgre status FILE [--json]         shows the paths and counters of a running tunnel\n"
    "  mptgre set FILE PATH KEY=VALUE,...  changes a path of a running tunnel: weight=2.5, backup=0|1, enabled=0|1\n"
    "\n"
    "FILE has sections of `key = value` lines; `#` begins a comment. Both ends list their paths in the same order:\n"
    "\n"
    "  [tunnel]\n"
    "  device = mpt0              # the interface to create\n"
    "  addresses = 10.99.0.1/24, fd99::1/64\n"
    "  key_file = tunnel.key      # beside this file, mode 600; make one with: openssl rand -hex 32\n"
    "  control = /run/mptgre.sock # for status and set\n"
    "  port = 4754                # UDP, at both ends\n"
    "  mtu = 1464                 # upper limit; by default the MTU follows the paths'\n"
    "  clamp_mss = true           # lower the segment size that passing TCP connections announce to what fits\n"
    "  offloads = true            # false: one packet per system call\n"
    "  service_time_us = 0        # model of a slow processor, for virtual time: each packet keeps the thread that\n"
    "                             # sends or receives it busy for so long (docs/tunnel.md)\n"
    "  [scheduling]\n"
    "  scheduler = wrr            # wrr (by weight), rtt (first to arrive), redundant (on every path), flowhash\n"
    "  run = 0                    # wrr: packets in a row on a path; 0: by the rate\n"
    "  weights = fixed            # or adaptive: by measured queues and losses\n"
    "  [reordering]\n"
    "  mode = adaptive            # off: no sequence numbers; fixed: wait max_delay_ms for a missing packet;\n"
    "                             # adaptive: wait until each path has brought a later one, and with wrr delay\n"
    "                             # packets from shorter paths to match the longest\n"
    "  window = 16384             # packets\n"
    "  max_delay_ms = 200\n"
    "  [keepalive]\n"
    "  enabled = true             # false: treat every path as up; for peers without keepalives\n"
    "  answer_plain = false       # true, if not enabled: answer the reference implementation's, without any proof\n"
    "                             # of who sent them; needs dead_ms = 2000 or more\n"
    "  interval_ms = 100\n"
    "  dead_ms = 500              # a path is down after this silence\n"
    "  recover = 3                # messages in a row that bring it up again\n"
    "  [path]                     # one section for each path\n"
    "  name = a\n"
    "  local = 192.0.2.1\n"
    "  remote = 192.0.2.2\n"
    "  device = eth0              # send through this interface; by default the routes decide\n"
    "  weight = 1\n"
    "  backup = false             # true: use it only while no other path is up\n"
    "  enabled = true\n"
    "\n"
    "The device of the tunnel, key_file, local and remote are required; addresses, control, mtu, and the device of a\n"
    "path have no default; for all others the default is shown. On the wire: UDP, then GRE of 4 bytes, or of 8 with\n"
    "a sequence number if reordering is on; data is compatible with MPT-GRE's reference implementation. Keepalives\n"
    "are authenticated; data is neither authenticated nor encrypted.\n"
    "Exit codes: 0 stopped; 1 the interface was deleted, or no tunnel answers; 2 usage or configuration; 3 the\n"
    "machine lacks something.\n";

static int fail(int code, const char *sentence)
{
    fprintf(stderr, "mptgre: %s\n", sentence);
    return code;
}

/* Returns false, after printing the mistakes, if there are any. */
static bool read_configuration(const char *path, struct configuration *configuration)
{
    static struct report report;
    report.path = path;
    bool is_good = configuration_read(configuration, &report);
    fputs(report.text, stderr);
    return is_good;
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
    const struct control_handler handler = {
        .context = &tunnel, .answer = requests_answer, .next_due = management_next_due, .run_due = management_run_due};
    if (!tunnel_open(&tunnel, configuration, error, sizeof error))
        return fail(EXIT_MISSING, error);
    management_begin(&tunnel);
    if (pthread_create(&tunnel.downlink, NULL, downlink_run, &tunnel) != 0 ||
        pthread_create(&tunnel.uplink, NULL, uplink_run, &tunnel) != 0)
        return fail(EXIT_MISSING, "cannot start a thread; raise `ulimit -u`");
    lifecycle_raise_priority(); /* a keepalive that waits for a processor looks like a dead path */
    /* If the reader of this has gone, nobody is left to stop the tunnel. */
    if (puts("ready") != EOF && fflush(stdout) == 0)
        control_serve(listen_fd, stop_fd, &handler);
    /* Stops the handling of control messages: exit() shuts down the cryptographic library while the threads run. */
    pthread_mutex_lock(&tunnel.lock);
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
    if (configuration.control[0] != '\0' &&
        (listen_fd = control_listen(configuration.control, error, sizeof error)) < 0)
        return fail(EXIT_MISSING, error);
    int code = serve(&configuration, listen_fd, stop_fd);
    if (configuration.control[0] != '\0')
        unlink(configuration.control);
    return code;
}

/* Sends a request to the running tunnel and prints the answer. */
static int ask(const char *path, const char *request)
{
    static struct configuration configuration;
    static char answer[CONTROL_ANSWER_BYTES];
    char error[ERROR_BYTES];
    if (!read_configuration(path, &configuration))
        return EXIT_USAGE;
    if (configuration.control[0] == '\0')
        return fail(EXIT_USAGE, "[tunnel] control is not set, so a running tunnel cannot be asked");
    if (!control_ask(configuration.control, request, answer, error, sizeof error))
        return fail(EXIT_BROKEN, error);
    puts(answer);
    return EXIT_SUCCESS;
}

static int set(const char *file, const char *path, const char *settings)
{
    char request[1024];
    if ((size_t)snprintf(request, sizeof request, "set %s %s", path, settings) >= sizeof request)
        return fail(EXIT_USAGE, "the settings are too long");
    return ask(file, request);
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
        return ask(arguments[2], "table");
    if (count == 4 && strcmp(command, "status") == 0 && strcmp(arguments[3], "--json") == 0)
        return ask(arguments[2], "stats");
    if (count == 5 && strcmp(command, "set") == 0)
        return set(arguments[2], arguments[3], arguments[4]);
    return fail(EXIT_USAGE, "usage: mptgre run|check|status|set FILE ...; see mptgre --help");
}
