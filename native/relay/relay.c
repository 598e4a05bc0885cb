/* relay: one emulated link in user space. Here are its command line, start and end; worker.h and direction.h do the
 * work. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/lifecycle.h"
#include "common/text.h"
#include "relay/commands.h"
#include "relay/direction.h"
#include "relay/spec/spec.h"
#include "relay/tap.h"
#include "relay/worker.h"

#define ERROR_BYTES 512
#define MEMORY_MAX (UINT64_C(1) << 40)

static const char usage_help[] =
    "relay - one emulated network link: two TAP devices, and in each direction a queue, a rate, loss and a delay\n"
    "\n"
    "  relay --name NAME --a IFNAME[@PID] --b IFNAME[@PID] --control SOCKETPATH [--a-to-b SPEC] [--b-to-a SPEC]\n"
    "        [--seed N] [--mtu BYTES] [--a-mac MAC] [--b-mac MAC] [--memory BYTES] [--exact]\n"
    "\n"
    "Creates a TAP device at each end, down, in the network namespace of process PID (or here), prints `ready`, and\n"
    "passes frames between them until SIGTERM, SIGINT or the end of the thread that started it; then both are gone.\n"
    "\n"
    "SPEC is key=value,... in plain numbers, and all keys are optional. A packet waits in the queue for the rate, and\n"
    "then meets the others in this order:\n";

static const char control_help[] =
    "\n"
    "Example: a path of 50 Mb/s and 30 ms round-trip time between the namespaces of processes 4711 and 4712:\n"
    "  relay --name path1 --a h1-eth0@4711 --b h2-eth0@4712 --control /tmp/path1.sock \\\n"
    "        --a-to-b rate_bps=50000000,delay_ns=15000000 --b-to-a rate_bps=50000000,delay_ns=15000000 &\n"
    "  nsenter -t 4711 -n ip addr add 10.0.0.1/24 dev h1-eth0\n"
    "  nsenter -t 4711 -n ip link set h1-eth0 up      (and the same for h2-eth0 in 4712)\n"
    "\n"
    "Control: connect a SOCK_SEQPACKET Unix socket to SOCKETPATH. Each request is a datagram, each answer JSON:\n"
    "  stats                                   counters, drops by cause, lateness of each direction\n"
    "  set a-to-b rate_bps=10000000,loss=0.01  changes these keys at once; nothing that is inside is lost\n"
    "  down, up                                carrier off and on at both ends; what is inside at `down` is lost\n"
    "  reset                                   clears lateness and queue peaks; counters go on\n"
    "  at NS REQUEST                           set, down, up or reset at this time on CLOCK_MONOTONIC\n"
    "  cancel                                  forgets the requests that wait for their time\n"
    "\n"
    "GSO packets (several segments in one piece) pass while one takes at most 1 ms, anywhere in a trace. Each of their\n"
    "segments is lost separately; an AQM drops or marks them whole. With a key that is marked *, and with reorder and\n"
    "jitter, they do not pass: the kernel cuts them first. --seed N repeats all random events packet by packet;\n"
    "without it the seed is random, and part of the statistics. --memory bounds what each direction holds, 1 GiB by\n"
    "default: a third for packets (2112 bytes each), the rest for GSO packets (65600 bytes each); what finds no room\n"
    "is dropped, and counted under `queue`. --exact, for a virtual clock: no frame is written early, and a GSO packet\n"
    "takes at most 0.1 ms.\n"
    "Exit codes: 0 stopped; 1 a device was deleted; 2 usage; 3 the machine lacks something.\n";

static void print_help(void)
{
    fputs(usage_help, stdout);
    spec_print_help(stdout);
    fputs(control_help, stdout);
}

struct options {
    const char *name, *control;
    struct tap_request device[2];
    struct spec spec[2];
    uint64_t seed, memory;
    bool exact;
};

/* The name goes into JSON unchanged. */
static void check_name(const char *name)
{
    size_t good = 0;
    while (name[good] >= ' ' && name[good] <= '~' && name[good] != '"' && name[good] != '\\')
        good++;
    if (good == 0 || good > 128 || name[good] != '\0')
        errx(EXIT_USAGE, "--name: '%.128s' is not 1 to 128 printable ASCII characters without \" and \\", name);
}

static uint64_t read_number(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char error[ERROR_BYTES];
    uint64_t number;
    const struct reading reading = {.key = option, .value = text, .error = error, .error_size = sizeof error};
    if (!text_read_whole(&reading, low, high, &number))
        errx(EXIT_USAGE, "%s", error);
    return number;
}

/* NAME or NAME@PID; changes `text`. */
static void read_device(const char *option, char *text, struct tap_request *device)
{
    const char *name = device->name = strsep(&text, "@");
    size_t length = strlen(name);
    if (length == 0 || length >= DEVICE_NAME_BYTES || strpbrk(name, "/: \t\n%") != NULL || name[0] == '.')
        errx(EXIT_USAGE, "%s: '%s' is not an interface name: 1 to 15 characters, no '/', ':', '%%', space or first dot",
             option, name);
    if (text != NULL)
        device->process = (pid_t)read_number(option, text, 1, INT32_MAX);
}

static void read_mac(const char *option, const char *text, struct tap_request *device)
{
    uint8_t *mac = device->mac;
    int end = 0;
    device->has_mac = sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", mac, mac + 1, mac + 2, mac + 3, mac + 4,
                             mac + 5, &end) == 6;
    if (!device->has_mac || text[end] != '\0' || (mac[0] & 1))
        errx(EXIT_USAGE, "%s: '%s' is not a MAC address of one interface, as 02:00:00:00:00:01", option, text);
}

static void read_spec(const char *option, const char *text, struct spec *spec)
{
    char error[ERROR_BYTES];
    if (!spec_parse(spec, text, error, sizeof error))
        errx(EXIT_USAGE, "%s: %s", option, error);
}

static uint64_t default_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = clock_now();
    return seed >> 11; /* exact even where JSON numbers are doubles */
}

static void check_options(const struct options *options)
{
    if (options->name == NULL)
        errx(EXIT_USAGE, "--name is missing; see relay --help");
    if (options->device[0].name == NULL || options->device[1].name == NULL)
        errx(EXIT_USAGE, "%s is missing; see relay --help", options->device[0].name == NULL ? "--a" : "--b");
    if (options->control == NULL)
        errx(EXIT_USAGE, "--control is missing; see relay --help");
    check_name(options->name);
    if (strcmp(options->device[0].name, options->device[1].name) == 0 &&
        options->device[0].process == options->device[1].process)
        errx(EXIT_USAGE, "--b: '%s' is the name of --a too", options->device[1].name);
}

static struct options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"name", required_argument, NULL, 'n'},   {"a", required_argument, NULL, 'a'},
        {"b", required_argument, NULL, 'b'},      {"a-to-b", required_argument, NULL, 'x'},
        {"b-to-a", required_argument, NULL, 'y'}, {"control", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},   {"mtu", required_argument, NULL, 'm'},
        {"a-mac", required_argument, NULL, 'A'},  {"b-mac", required_argument, NULL, 'B'},
        {"memory", required_argument, NULL, 'M'}, {"exact", no_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.spec = {spec_nothing(), spec_nothing()}, .seed = default_seed(), .memory = POOL_BYTES};
    uint32_t mtu = 0;
    int option;

    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
        switch (option) {
        case 'n': options.name = optarg; break;
        case 'a': read_device("--a", optarg, &options.device[0]); break;
        case 'b': read_device("--b", optarg, &options.device[1]); break;
        case 'm': mtu = (uint32_t)read_number("--mtu", optarg, 68, 65521); break;
        case 'A': read_mac("--a-mac", optarg, &options.device[0]); break;
        case 'B': read_mac("--b-mac", optarg, &options.device[1]); break;
        case 'x': read_spec("--a-to-b", optarg, &options.spec[0]); break;
        case 'y': read_spec("--b-to-a", optarg, &options.spec[1]); break;
        case 'c': options.control = optarg; break;
        case 's': options.seed = read_number("--seed", optarg, 0, UINT64_MAX); break;
        case 'M': options.memory = read_number("--memory", optarg, POOL_BYTES_MIN, MEMORY_MAX); break;
        case 'e': options.exact = true; break;
        case 'h':
            print_help();
            exit(EXIT_SUCCESS);
        default:
            exit(EXIT_USAGE); /* getopt has said which option */
        }
    }
    if (optind < count)
        errx(EXIT_USAGE, "'%s' belongs to no option; see relay --help", arguments[optind]);
    options.device[0].mtu = options.device[1].mtu = mtu;
    check_options(&options);
    return options;
}

static void fail(const char *sentence, const struct options *options)
{
    unlink(options->control);
    errx(EXIT_MISSING, "%s", sentence);
}

static void open_devices(struct relay_link *link, const struct options *options)
{
    char error[ERROR_BYTES];
    int fd[2];

    for (int i = 0; i < 2; i++)
        if ((fd[i] = tap_create(&options->device[i], error, sizeof error)) < 0)
            fail(error, options);
    for (int i = 0; i < 2; i++) {
        struct direction *direction = &link->directions[i];
        direction->in_fd = fd[i];
        direction->out_fd = fd[1 - i];
        direction->spec = options->spec[i];
        direction->exact = options->exact;
        direction_configure_sender(direction);
    }
}

static void start_workers(struct relay_link *link, const struct options *options)
{
    struct direction *a_to_b = &link->directions[0], *b_to_a = &link->directions[1];
    char error[ERROR_BYTES];
    int reason = 0;

    for (uint64_t i = 0; i < 2 && reason == 0; i++)
        reason = direction_init(&link->directions[i], options->seed, i, options->memory) ? 0 : ENOMEM;
    link->worker_count = worker_suffices(&a_to_b->spec, &b_to_a->spec) ? 1 : 2;
    link->workers[0] = (struct worker){.served = {a_to_b, b_to_a}, .count = link->worker_count == 1 ? 2 : 1};
    link->workers[1] = (struct worker){.served = {b_to_a}, .count = 1};
    for (int i = 0; i < link->worker_count && reason == 0; i++)
        reason = worker_start(&link->workers[i]);
    if (reason != 0) {
        snprintf(error, sizeof error, "cannot start the link: %s; raise `ulimit -v` and `ulimit -u`", strerror(reason));
        fail(error, options);
    }
}

/* Returns the exit code. */
static int report_end(const struct relay_link *link, const struct options *options)
{
    for (int i = 0; i < 2; i++) {
        if (link->directions[i].ended) {
            fprintf(stderr, "relay: %s: the device made as %s was deleted, perhaps with its namespace; the link ends\n",
                    link->name, options->device[i].name);
            return EXIT_BROKEN;
        }
    }
    return EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    static struct relay_link link = {.directions = {{.key = "a_to_b"}, {.key = "b_to_a"}}};
    const struct control_handler handler = {
        .context = &link, .answer = commands_answer, .next_due = commands_next_due, .run_due = commands_run_due};
    char error[ERROR_BYTES];
    struct options options = read_options(count, arguments);

    int stop_fd = lifecycle_stop_fd();
    lifecycle_end_with_parent();
    int listen_fd = control_listen(options.control, error, sizeof error);
    if (listen_fd < 0)
        errx(EXIT_MISSING, "%s", error);
    link.name = options.name;
    link.seed = options.seed;
    link.started_ns = clock_now();
    open_devices(&link, &options);
    start_workers(&link, &options);
    /* If this cannot be written, whoever started the link has gone and would not stop it. */
    if (puts("ready") != EOF && fflush(stdout) == 0)
        control_serve(listen_fd, stop_fd, &handler);
    unlink(options.control);
    return report_end(&link, &options);
}
