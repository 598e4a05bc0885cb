/* The cost of a packet in the line of a link, without the kernel: the time of one arrival and one departure.
 * `line_cost SPEC PACKETS BYTES` prints nanoseconds per packet. */
#include "../support/line_driver.c"
#include "common/clock.h"

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

static void send(struct driver *driver, uint32_t bytes, uint32_t number, uint64_t now)
{
    struct frame *frame = pool_take_frame(&driver->pool);
    write_packet(frame, bytes, number % 8);
    segments_measure(frame);
    ledger_enter(&driver->ledger, frame);
    line_arrive(&driver->line, frame, now);
}

static void receive(struct driver *driver, uint64_t now)
{
    struct frame *frame;
    while ((frame = line_depart(&driver->line, now)) != NULL)
        ledger_leave(&driver->ledger, frame, frame->copies);
}

int main(int count, char **arguments)
{
    char error[512];
    struct driver *driver = count == 4 ? driver_new(arguments[1], 1, 0, 0, error, sizeof error) : NULL;
    if (driver == NULL)
        return 2;
    long packets = strtol(arguments[2], NULL, 10);
    uint32_t bytes = (uint32_t)strtoul(arguments[3], NULL, 10);
    /* As many at a time as a busy link has inside. */
    uint64_t start = clock_now(), now = 0, gap_ns = 1200;
    for (long i = 0; i < packets; i++) {
        send(driver, bytes, (uint32_t)i, now);
        receive(driver, now);
        now += gap_ns;
    }
    printf("%.1f\n", (double)(clock_now() - start) / (double)packets);
    return 0;
}
