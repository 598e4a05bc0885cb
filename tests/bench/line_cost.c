/* The cost of a packet in the line of a link, without the kernel: the time of one arrival and one departure.
 * `line_cost SPEC PACKETS BYTES` prints nanoseconds per packet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "relay/frames/ledger.h"
#include "relay/frames/segments.h"
#include "relay/line/line.h"

static struct pool pool;
static struct stats stats;
static struct line line;

/* A UDP packet over IPv4: a flow for fair queueing, and able to be marked. */
static void write_packet(struct frame *frame, uint32_t bytes, uint32_t flow)
{
    static const uint8_t headers[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    2, 0, 0, 0, 0, 1, 2, 0, 0,  0, 0, 2, 8, 0, 0x45, 2, 5, 0xdc,
                                      0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    memcpy(frame->head, headers, sizeof headers);
    frame->head[FRAME_VNET_BYTES + 35] = (uint8_t)flow;
    frame->length = FRAME_VNET_BYTES + bytes;
    frame->tail = NULL;
}

static void send(uint32_t bytes, uint32_t number, uint64_t now, struct ledger *ledger)
{
    struct frame *frame = pool_take_frame(&pool);
    write_packet(frame, bytes, number % 8);
    segments_measure(frame);
    ledger_enter(ledger, frame);
    line_arrive(&line, frame, now);
}

static void receive(uint64_t now, struct ledger *ledger)
{
    struct frame *frame;
    while ((frame = line_depart(&line, now)) != NULL) {
        ledger_leave(ledger, frame, frame->copies);
    }
}

int main(int count, char **arguments)
{
    char error[512];
    struct spec spec = spec_nothing();
    struct ledger ledger = {.pool = &pool, .stats = &stats};
    if (count != 4 || !spec_parse(&spec, arguments[1], error, sizeof error) || !pool_create(&pool, POOL_BYTES) ||
        !line_init(&line, &spec, ledger, 1, 0, 0))
        return 2;
    long packets = strtol(arguments[2], NULL, 10);
    uint32_t bytes = (uint32_t)strtoul(arguments[3], NULL, 10);
    /* As many at a time as a busy link has inside. */
    uint64_t start = clock_now(), now = 0, gap_ns = 1200;
    for (long i = 0; i < packets; i++) {
        send(bytes, (uint32_t)i, now, &ledger);
        receive(now, &ledger);
        now += gap_ns;
    }
    printf("%.1f\n", (double)(clock_now() - start) / (double)packets);
    return 0;
}
