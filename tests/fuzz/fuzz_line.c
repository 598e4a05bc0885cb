/* Fuzz target: frames of any content, with any vnet header, through a line that is changed meanwhile. Claims that every
 * packet and byte is accounted for, and that no frame leaves that is larger than those that arrived. */
#include "../support/line_driver.c"
#include "common/clock.h"
#include "fuzz.h"

static uint64_t all_dropped(const struct stats *stats)
{
    uint64_t sum = 0;
    for (int i = 0; i < DROP_CAUSES; i++)
        sum += counter_read(&stats->dropped[i]);
    return sum;
}

static void claim_balance(const struct stats *stats)
{
    CLAIM(counter_read(&stats->in_packets) + counter_read(&stats->duplicated_packets) ==
          counter_read(&stats->out_packets) + all_dropped(stats) + counter_read(&stats->queued_packets));
    CLAIM(counter_read(&stats->in_bytes) + counter_read(&stats->duplicated_bytes) ==
          counter_read(&stats->out_bytes) + counter_read(&stats->dropped_bytes) + counter_read(&stats->queued_bytes));
}

static void depart(struct driver *driver, size_t largest, uint64_t now)
{
    struct frame *frame;
    while ((frame = line_depart(&driver->line, now)) != NULL) {
        CLAIM(frame->due_ns <= now);
        CLAIM(frame->length <= largest);
        CLAIM(frame->wire.segments > 0);
        ledger_leave(&driver->ledger, frame, frame->copies);
    }
}

/* Returns the length of the frame if it is sound. */
static size_t arrive(struct driver *driver, struct input *input, uint64_t now)
{
    size_t length, wanted = input_number(input, 2);
    const uint8_t *data = input_bytes(input, wanted % (sizeof((struct frame){0}.head) + 4096), &length);
    return driver_arrive(driver, data, length, now) ? length : 0;
}

static void change(struct driver *driver, struct input *input, uint64_t now)
{
    static const char *const texts[] = {
        "rate_bps=1000", "rate_bps=0", "rate_bps=1000000000", "delay_ns=0", "delay_ns=5000000", "loss=0", "loss=0.3",
        "burst_enter=0.2,burst_leave=0.2", "burst_enter=0", "jitter_ns=3000000", "jitter=uniform", "reorder=1",
        "reorder=0", "duplicate=0.5", "queue_bytes=5000", "queue_packets=7", "discipline=codel,ecn=1",
        "discipline=fq_codel", "discipline=droptail", "blackhole=1", "blackhole=0", "corrupt=0.5", "corrupt=0",
        "overhead_bytes=1000", "overhead_bytes=0",
    };
    uint64_t choice = input_number(input, 1);
    driver_change(driver, texts[choice % (sizeof texts / sizeof texts[0])], choice >= 250, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct driver *driver;
    static uint64_t now;
    static size_t largest;
    char error[512];
    struct input input = {data, size};

    if (driver == NULL)
        driver = driver_new("", 1, 0, 0, error, sizeof error);
    CLAIM(driver != NULL);
    while (input.size > 0) {
        uint64_t step = input_number(&input, 1);
        now += (step >> 2) * 100000;
        if (step % 4 == 0) {
            change(driver, &input, now);
        } else {
            size_t length = arrive(driver, &input, now);
            largest = length > largest ? length : largest;
        }
        depart(driver, largest, now);
        claim_balance(&driver->stats);
    }
    struct spec empty = spec_nothing();
    line_change(&driver->line, &empty, true, now);
    driver->spec = empty;
    CLAIM(counter_read(&driver->stats.queued_packets) == 0 && counter_read(&driver->stats.queued_bytes) == 0);
    CLAIM(line_next(&driver->line, now) == NEVER);
    return 0;
}
