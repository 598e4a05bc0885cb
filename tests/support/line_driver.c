/* The line of a relay with a flat interface for Python: frames go in and come out as bytes, at times that the test
 * chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relay/frames/ledger.h"
#include "relay/frames/segments.h"
#include "relay/line/line.h"

/* Begins with the line, so that its functions take a driver. */
struct driver {
    struct line line;
    struct pool pool;
    struct stats stats;
    struct ledger ledger;
    struct spec spec;
};

struct driver *driver_new(const char *text, uint64_t seed, uint64_t stream, uint64_t now, char *error,
                          size_t error_size)
{
    struct driver *driver = calloc(1, sizeof *driver);
    driver->spec = spec_nothing();
    driver->ledger = (struct ledger){.pool = &driver->pool, .stats = &driver->stats};
    if (spec_parse(&driver->spec, text, error, error_size) && pool_create(&driver->pool, POOL_BYTES) &&
        line_init(&driver->line, &driver->spec, driver->ledger, seed, stream, now))
        return driver;
    free(driver);
    return NULL;
}

void driver_change(struct driver *driver, const char *text, bool down, uint64_t now)
{
    char error[512];
    if (!spec_parse(&driver->spec, text, error, sizeof error))
        abort();
    driver->spec.down = down;
    line_change(&driver->line, &driver->spec, down, now);
}

/* `data` begins with the vnet header. Returns whether the frame is sound. */
bool driver_arrive(struct driver *driver, const uint8_t *data, size_t length, uint64_t now)
{
    struct frame *frame = pool_take_frame(&driver->pool);
    frame->tail = pool_take_tail(&driver->pool);
    frame->length = (uint32_t)length;
    size_t head = frame_head_bytes(frame);
    memcpy(frame->head, data, head);
    memcpy(frame->tail, data + head, length - head);
    if (!segments_measure(frame)) {
        pool_give_frame(&driver->pool, frame);
        return false;
    }
    ledger_enter(&driver->ledger, frame);
    line_arrive(&driver->line, frame, now);
    counter_raise(&driver->stats.queue_peak_bytes, driver->line.queue.bytes);
    return true;
}

/* Copies a frame that is due to `out` and returns its length; 0 if none is due. */
size_t driver_depart(struct driver *driver, uint64_t now, uint8_t *out, uint64_t *due, uint32_t *copies)
{
    struct frame *frame = line_depart(&driver->line, now);
    if (frame == NULL)
        return 0;
    size_t length = frame->length, head = frame_head_bytes(frame);
    memcpy(out, frame->head, head);
    if (length > head)
        memcpy(out + head, frame->tail, length - head);
    *due = frame->due_ns;
    *copies = frame->copies;
    ledger_leave(&driver->ledger, frame, frame->copies);
    return length;
}

void driver_stats(const struct driver *driver, char *out, size_t size)
{
    snprintf(out, size, "{");
    stats_format(&driver->stats, out, size - 1);
    strcat(out, "}");
}

uint32_t driver_frame_bound(const struct driver *driver)
{
    return spec_frame_bound(&driver->spec, SPEC_FRAME_BOUND_NS);
}

uint64_t driver_queue_bytes(const struct driver *driver)
{
    return spec_queue_bytes(&driver->spec);
}
