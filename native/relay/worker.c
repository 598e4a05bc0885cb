#include "relay/worker.h"

#include <sched.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/lifecycle.h"

/* A nap shorter than this costs more than it saves. */
#define NAP_MIN_NS UINT64_C(20000)
/* Bounds of nap_limit(). */
#define NAP_LIMIT_MIN_NS UINT64_C(250000)
#define NAP_LIMIT_MAX_NS UINT64_C(2000000)

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Limit of the time that input stays unread while the line is busy: about the time of a frame. */
static uint64_t nap_limit(const struct line *line)
{
    uint64_t rate_bps = spec_mean_bps(&line->spec);
    uint64_t frame_ns = rate_bps == 0 ? 0 : 1500 * 8 * NS_PER_S / rate_bps;
    return frame_ns < NAP_LIMIT_MIN_NS ? NAP_LIMIT_MIN_NS : sooner(frame_ns, NAP_LIMIT_MAX_NS);
}

/* Until when the direction's input may stay unread; `now` or less: read it. */
static uint64_t nap_end(const struct line *line, uint64_t now)
{
    uint64_t busy_until = line_busy_until(line);
    return busy_until < now + NAP_MIN_NS ? now : sooner(busy_until, now + nap_limit(line));
}

static void sleep_until(struct worker *worker, struct pollfd *inputs, uint64_t now, uint64_t until)
{
    if (clock_poll(inputs, (nfds_t)worker->count, now, until) <= 0)
        return;
    for (int i = 0; i < worker->count; i++)
        if (inputs[i].revents & ~POLLIN)
            lifecycle_end(&worker->served[i]->ended);
}

static void rest(struct worker *worker)
{
    struct pollfd inputs[2];
    uint64_t now = clock_now(), until = NEVER;

    for (int i = 0; i < worker->count; i++) {
        struct line *line = &worker->served[i]->line;
        uint64_t nap = worker->served[i]->exact ? now : nap_end(line, now);
        until = sooner(until, line_next(line, now));
        if (nap > now)
            until = sooner(until, nap);
        /* poll() ignores a negative descriptor. */
        inputs[i] = (struct pollfd){.fd = nap > now ? -1 : worker->served[i]->in_fd, .events = POLLIN};
    }
    if (until > now)
        sleep_until(worker, inputs, now, until);
}

/* Late frames make wrong results, so links go before the hosts' own load. On a machine with 13 runnable threads per
 * core, a link of 1 Gb/s had a 99th percentile of lateness of 38 ms without priority, 14 ms with nice -20, 0.06 ms
 * with real-time priority (medians of three interleaved runs). A slow link gets the last. Two threads that forward
 * 10 Gb/s may need more of the cores than hosts and kernel can spare, so they get nice only. Without the privilege
 * nothing changes, and lateness_ns shows it. */
static void raise_priority(const struct worker *worker)
{
    struct sched_param real_time = {.sched_priority = 1};
    if (worker->count == 2 && pthread_setschedparam(pthread_self(), SCHED_RR, &real_time) == 0)
        return;
    lifecycle_raise_priority();
}

static void *run(void *argument)
{
    struct worker *worker = argument;

    /* By default timers may be 50 us late. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    raise_priority(worker);
    for (;;) {
        bool busy = false;
        for (int i = 0; i < worker->count; i++)
            busy |= direction_work(worker->served[i]);
        if (!busy)
            rest(worker);
    }
    return NULL;
}

static bool is_slow(uint64_t rate_bps)
{
    return rate_bps != 0 && rate_bps <= WORKER_SHARED_RATE_BPS;
}

bool worker_suffices(const struct spec *a, const struct spec *b)
{
    return is_slow(spec_mean_bps(a)) && is_slow(spec_mean_bps(b));
}

int worker_start(struct worker *worker)
{
    return pthread_create(&worker->thread, NULL, run, worker);
}
