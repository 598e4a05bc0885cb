/* Fuzz target: any bytes as requests on the tunnel's control socket, one a line, with control messages of the other end
 * in between. Claims that each answer is one whole JSON object, or the table, of visible characters. */
#include "common/clock.h"
#include "fuzz.h"
#include "tunnel/requests.h"
#include "tunnel/tunnel.h"

/* The first byte of a line that is a control message. */
#define MESSAGE_SIGNED 0xf0
#define MESSAGE_PLAIN 0xa1

static struct configuration configuration;
static struct tunnel tunnel = {.configuration = &configuration, .lock = PTHREAD_MUTEX_INITIALIZER, .tun = {.fd = -1}};
static char answer[65536];

static void begin(void)
{
    static const char text[] = "[tunnel]\ndevice=mpt0\nkey_file=k\n[path]\nname=a\nlocal=1.2.3.4\nremote=1.2.3.5\n"
                               "[path]\nname=b\nlocal=::1\nremote=::2\nweight=3\nbackup=true\n";
    static struct report report = {.path = "file"};
    const uint64_t seed[3] = {1, 2, 3};
    const struct peer_settings settings = {
        .paths = 2, .dead_ns = 500000000, .recover = 2, .key = {"0123456789abcdef", 16}};
    CLAIM(configuration_parse(text, sizeof text - 1, &configuration, &report));
    tunnel.uplink = tunnel.downlink = pthread_self();
    for (int i = 0; i < configuration.path_count; i++) {
        tunnel.sockets[i].fd = -1; /* the kernel refuses, the request goes on */
        tunnel.paths[i] = (struct tunnel_path){.changeable = configuration.paths[i].changeable, .adapted = 1};
    }
    peer_init(&tunnel.peer, &settings, seed);
    tunnel.receiver.mtu = tunnel.sender.mtu = tunnel.mtu = 1400;
    management_begin(&tunnel);
}

static void claim_visible(const char *text)
{
    for (; *text != '\0'; text++)
        CLAIM((*text >= ' ' && *text <= '~') || *text == '\n');
}

static void ask(char *request)
{
    bool is_table = strcmp(request, "table") == 0;
    answer[0] = '\0';
    requests_answer(&tunnel, request, answer, sizeof answer);
    if (is_table)
        claim_visible(answer);
    else
        claim_whole_object(answer);
    for (int i = 0; i < configuration.path_count; i++)
        CLAIM(tunnel.paths[i].changeable.weight >= 0.001 && tunnel.paths[i].changeable.weight <= 1e6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char request[8193];
    struct input input = {data, size};
    if (configuration.path_count == 0)
        begin();
    while (input.size > 0) {
        const uint8_t *line = input.data;
        size_t length = input_line(&input, request, sizeof request);
        if (length > 0 && (*line == MESSAGE_SIGNED || *line == MESSAGE_PLAIN)) {
            configuration.keepalives = *line == MESSAGE_SIGNED;
            configuration.answer_plain = !configuration.keepalives;
            tunnel.receiver.control(&tunnel, (int)(length % 2), line, length, clock_now());
        } else {
            ask(request);
        }
    }
    ask(strcpy(request, "stats"));
    ask(strcpy(request, "table"));
    return 0;
}
