/* Fuzz target: any bytes as requests on the control socket, one a line. Claims that each answer is one whole JSON
 * object, as far as its quotes and braces show. */
#include <pthread.h>

#include "common/clock.h"
#include "fuzz.h"
#include "relay/commands.h"

static char answer[16384];

static struct relay_link *make_link(void)
{
    static struct relay_link link = {
        .name = "link", .worker_count = 1, .directions = {{.key = "a_to_b"}, {.key = "b_to_a"}}};
    for (int i = 0; i < 2; i++) {
        link.directions[i].spec = spec_nothing();
        link.directions[i].in_fd = link.directions[i].out_fd = -1; /* the kernel refuses, the request goes on */
        link.workers[i].thread = pthread_self();
    }
    return &link;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct relay_link *link;
    struct input input = {data, size};
    char request[5001];

    if (link == NULL)
        link = make_link();
    while (input.size > 0) {
        input_line(&input, request, sizeof request);
        answer[0] = '\0';
        commands_answer(link, request, answer, sizeof answer);
        claim_whole_object(answer);
    }
    strcpy(request, "cancel");
    commands_run_due(link, clock_now());
    commands_answer(link, request, answer, sizeof answer);
    return 0;
}
