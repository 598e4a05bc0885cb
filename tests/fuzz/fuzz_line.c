/* Fuzz target: frames of any content, with any vnet header, through a line that is changed meanwhile. Claims that every
 * packet and byte is accounted for, and that no frame leaves that is larger than those that arrived. */
#include <stdbool.h>

#include "common/clock.h"
#include "fuzz.h"
#include "relay/frames/ledger.h"
#include "relay/frames/segments.h"
#include "relay/line/line.h"

struct bench {
    struct line line;
    struct pool pool;
    struct stats stats;
    struct ledger ledger;
    struct spec spec;
    uint64_t now;
    size_t largest;
};

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

static void depart(struct bench *bench, uint64_t now)
{
    struct frame *frame;
    while ((frame = line_depart(&bench->line, now)) != NULL) {
        CLAIM(frame->due_ns <= now);
        CLAIM(frame->length <= bench->largest);
        CLAIM(frame->wire.segments > 0);
        ledger_leave(&bench->ledger, frame, frame->copies);
    }
}

static void arrive(struct bench *bench, struct input *input)
{
    size_t length, wanted = input_number(input, 2);
    const uint8_t *data = input_bytes(input, wanted % (sizeof((struct frame){0}.head) + 4096), &length);
    struct frame *frame = pool_take_frame(&bench->pool);

    frame->tail = pool_take_tail(&bench->pool);
    frame->length = (uint32_t)length;
    size_t head = frame_head_bytes(frame);
    memcpy(frame->head, data, head);
    memcpy(frame->tail, data + head, length - head);
    if (!segments_measure(frame)) {
        pool_give_frame(&bench->pool, frame);
        return;
    }
    bench->largest = length > bench->largest ? length : bench->largest;
    ledger_enter(&bench->ledger, frame);
    line_arrive(&bench->line, frame, bench->now);
}

static void change(struct bench *bench, struct input *input)
{
    static const char *const texts[] = {
        "rate_bps=1000", "rate_bps=0", "rate_bps=1000000000", "delay_ns=0", "delay_ns=5000000", "loss=0", "loss=0.3",
        "burst_enter=0.2,burst_leave=0.2", "burst_enter=0", "jitter_ns=3000000", "jitter=uniform", "reorder=1",
        "reorder=0", "duplicate=0.5", "queue_bytes=5000", "queue_packets=7", "discipline=codel,ecn=1",
        "discipline=fq_codel", "discipline=droptail", "blackhole=1", "blackhole=0", "corrupt=0.5", "corrupt=0",
    };
    char error[512];
    uint64_t choice = input_number(input, 1);
    CLAIM(spec_parse(&bench->spec, texts[choice % (sizeof texts / sizeof texts[0])], error, sizeof error));
    bench->spec.down = choice >= 250;
    line_change(&bench->line, &bench->spec, bench->spec.down, bench->now);
}


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bench bench;
    static bool started;
    struct input input = {data, size};

    if (!started) {
        CLAIM(pool_create(&bench.pool, POOL_BYTES));
        bench.ledger = (struct ledger){.pool = &bench.pool, .stats = &bench.stats};
        bench.spec = spec_nothing();
        CLAIM(line_init(&bench.line, &bench.spec, bench.ledger, 1, 0, 0));
        started = true;
    }
    while (input.size > 0) {
        uint64_t step = input_number(&input, 1);
        bench.now += (step >> 2) * 100000;
        if (step % 4 == 0)
            change(&bench, &input);
        else
            arrive(&bench, &input);
        depart(&bench, bench.now);
        claim_balance(&bench.stats);
    }
    struct spec empty = spec_nothing();
    line_change(&bench.line, &empty, true, bench.now);
    bench.spec = empty;
    CLAIM(counter_read(&bench.stats.queued_packets) == 0 && counter_read(&bench.stats.queued_bytes) == 0);
    CLAIM(line_next(&bench.line, bench.now) == NEVER);
    return 0;
}
