#include "tunnel/data/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

/* Number of strays in a row from which they are accepted. They are ahead if all paths were dead for a while. They are
 * behind if a peer without keepalives has restarted, which is rarer, and a mistake costs more; but not after a pause,
 * which a restart takes. */
#define STRAYS_AHEAD 2
#define STRAYS_BEHIND 16
#define STRAYS_AFTER_PAUSE 2
/* A path is not waited for after this silence. */
#define SILENCE_NS NS_PER_S
/* The most packets that can be in flight: 0.15 s at 10 Gb/s. */
#define IN_FLIGHT_MAX (1 << 17)

bool reorder_init(struct reorder *reorder, uint32_t window)
{
    uint32_t rounded = 64;
    while (rounded < window)
        rounded *= 2;
    *reorder = (struct reorder){
        .window = rounded,
        .slots = calloc(rounded, sizeof(struct reorder_slot)),
        .delivered = calloc(rounded, sizeof(bool)),
    };
    return reorder->slots != NULL && reorder->delivered != NULL;
}

static struct reorder_slot *slot_of(const struct reorder *reorder, uint32_t sequence)
{
    return &reorder->slots[sequence & (reorder->window - 1)];
}

static bool *delivered(const struct reorder *reorder, uint32_t sequence)
{
    return &reorder->delivered[sequence & (reorder->window - 1)];
}

static void start_at(struct reorder *reorder, uint32_t sequence)
{
    memset(reorder->delivered, 0, reorder->window);
    for (int i = 0; i < PATHS_MAX; i++)
        reorder->paths[i].newest = sequence - 1; /* `seen` stays: they are still expected */
    reorder->started = true;
    reorder->next = reorder->floor = sequence;
    reorder->strays = 0;
}

/* Goes on to the next number. The floor must not stay behind: after 2^31 numbers it would count as ahead. */
static void advance(struct reorder *reorder, bool arrived)
{
    *delivered(reorder, reorder->next) = arrived;
    if (reorder->floor == reorder->next)
        reorder->floor++;
    reorder->next++;
}

static void note_path(struct reorder *reorder, uint32_t sequence, int path, uint64_t now)
{
    struct reorder_path *this = &reorder->paths[path];
    /* During a silence the others may have brought so many that `newest` cannot be compared any more. */
    bool begins = now - this->at_ns >= SILENCE_NS && (int32_t)(sequence - reorder->next) >= 0;
    if (!this->seen || begins || (int32_t)(sequence - this->newest) > 0)
        this->newest = sequence;
    this->seen = true;
    this->at_ns = now;
    if (now - reorder->busy_ns >= SILENCE_NS)
        reorder->busy_since_ns = now;
    reorder->busy_ns = now;
}

static bool is_near(const struct reorder *reorder, uint32_t a, uint32_t b)
{
    return a - b < reorder->window || b - a < reorder->window;
}

/* Returns whether enough strays in a row were close to each other. A copy confirms nothing. */
static bool accept_stray(struct reorder *reorder, uint32_t sequence, uint32_t needed)
{
    if (reorder->strays > 0 && sequence == reorder->stray)
        return false;
    bool confirms = reorder->strays > 0 && is_near(reorder, sequence, reorder->stray);
    reorder->strays = confirms ? reorder->strays + 1 : 1;
    reorder->stray = sequence;
    return reorder->strays >= needed;
}

static enum reorder_fate put_early(struct reorder *reorder, uint32_t sequence, uint32_t ahead)
{
    if (ahead >= 2 * reorder->window) {
        if (!accept_stray(reorder, sequence, STRAYS_AHEAD))
            return REORDER_STRAY;
        reorder_restart(reorder, sequence);
        return REORDER_AHEAD;
    }
    reorder->floor = sequence - reorder->window + 1;
    return REORDER_AHEAD;
}

/* The number of a late packet was given up too soon, because its path is slower than expected, or reorders: wait
 * longer. */
static void learn_margin(struct reorder *reorder, uint32_t sequence, uint64_t now)
{
    uint64_t late_ns = now - slot_of(reorder, sequence)->arrived_ns;
    if (late_ns > reorder->margin_ns)
        reorder->margin_ns = late_ns < reorder->limit_ns ? late_ns : reorder->limit_ns;
}

/* Whether a number that is stale, or has arrived before, shows that a peer without keepalives has restarted. Copies of
 * packets come on other paths than the packets themselves, but a restarted peer goes back on a path's own numbers. */
static bool shows_restart(struct reorder *reorder, uint32_t sequence, uint32_t behind, int path, uint64_t now)
{
    const struct reorder_path *from = &reorder->paths[path];
    bool goes_back = from->seen && (int32_t)(sequence - from->newest) <= 0;
    if (!reorder->backwards || (behind <= reorder->window && !goes_back))
        return false;
    bool after_pause = goes_back && now - reorder->busy_ns >= reorder->limit_ns;
    return accept_stray(reorder, sequence, after_pause ? STRAYS_AFTER_PAUSE : STRAYS_BEHIND);
}

static enum reorder_fate put_late(struct reorder *reorder, uint32_t sequence, uint32_t behind, int path, uint64_t now)
{
    bool is_stale = behind > reorder->window;
    if (is_stale || *delivered(reorder, sequence)) {
        if (!shows_restart(reorder, sequence, behind, path, now))
            return is_stale ? REORDER_STALE : REORDER_DUPLICATE;
        reorder_restart(reorder, sequence);
        return REORDER_AHEAD;
    }
    *delivered(reorder, sequence) = true;
    note_path(reorder, sequence, path, now);
    learn_margin(reorder, sequence, now);
    return REORDER_LATE;
}

static void keep(struct reorder *reorder, struct reorder_slot *slot, const struct reorder_packet *packet, uint64_t now,
                 uint64_t lead_ns)
{
    *slot = (struct reorder_slot){.packet = *packet, .arrived_ns = now, .due_ns = now + lead_ns};
    if (reorder->held++ == 0)
        reorder->waits_since_ns = now;
    if (reorder->held > reorder->peak)
        reorder->peak = reorder->held;
}

enum reorder_fate reorder_put(struct reorder *reorder, uint32_t sequence, const struct reorder_packet *packet, int path,
                              uint64_t now)
{
    if (!reorder->started && reorder->held > 0)
        return REORDER_AHEAD;
    if (!reorder->started)
        start_at(reorder,
                 reorder->start_known && is_near(reorder, sequence, reorder->start) ? reorder->start : sequence);
    int32_t ahead = (int32_t)(sequence - reorder->next);
    if (ahead < 0)
        return put_late(reorder, sequence, -(uint32_t)ahead, path, now);
    if ((uint32_t)ahead >= reorder->window)
        return put_early(reorder, sequence, (uint32_t)ahead);
    reorder->strays = 0;
    note_path(reorder, sequence, path, now);
    struct reorder_slot *slot = slot_of(reorder, sequence);
    if (slot->packet.buffer != NULL)
        return REORDER_DUPLICATE;
    uint64_t lead_ns = reorder->paths[path].lead_ns;
    if (ahead == 0 && lead_ns == 0) {
        advance(reorder, true);
        return REORDER_NOW;
    }
    keep(reorder, slot, packet, now, lead_ns);
    return REORDER_KEPT;
}

/* Whether a path has been silent while others brought packets; when all are silent it means nothing. */
static bool is_silent(const struct reorder *reorder, const struct reorder_path *path, uint64_t now)
{
    uint64_t since = path->at_ns > reorder->busy_since_ns ? path->at_ns : reorder->busy_since_ns;
    return !path->seen || now - since >= SILENCE_NS;
}

/* Whether each path that carries anything has brought a packet after the missing one. */
static bool all_passed(const struct reorder *reorder, uint64_t now)
{
    for (int i = 0; i < PATHS_MAX; i++) {
        const struct reorder_path *path = &reorder->paths[i];
        if (!is_silent(reorder, path, now) && (int32_t)(path->newest - reorder->next) <= 0)
            return false;
    }
    return true;
}

static uint64_t longest_wait_ns(const struct reorder *reorder, uint64_t now)
{
    bool passed = reorder->by_paths && all_passed(reorder, now);
    return passed && reorder->margin_ns < reorder->limit_ns ? reorder->margin_ns : reorder->limit_ns;
}

static bool is_below_floor(const struct reorder *reorder)
{
    return reorder->floor != reorder->next;
}

/* Whether the next packet, which is missing, has been waited for long enough. */
static bool may_give_up(const struct reorder *reorder, uint64_t now)
{
    return is_below_floor(reorder) || now - reorder->waits_since_ns >= longest_wait_ns(reorder, now);
}

static void give_up_next(struct reorder *reorder, uint64_t now)
{
    slot_of(reorder, reorder->next)->arrived_ns = now; /* for learn_margin() */
    advance(reorder, false);
    reorder->given_up++;
}

/* Gives up numbers to the next that is held, but not beyond the floor if that is ahead. */
static void give_up(struct reorder *reorder, uint64_t now)
{
    bool to_floor = is_below_floor(reorder);
    while (slot_of(reorder, reorder->next)->packet.buffer == NULL && !(to_floor && reorder->next == reorder->floor))
        give_up_next(reorder, now);
}

/* For empty slots. */
static void give_up_to_floor(struct reorder *reorder, uint64_t now)
{
    while (reorder->started && is_below_floor(reorder))
        give_up_next(reorder, now);
}

static void take_out(struct reorder *reorder, struct reorder_slot *slot, struct reorder_packet *packet)
{
    *packet = slot->packet;
    slot->packet.buffer = NULL;
    reorder->held--;
    advance(reorder, true);
}

/* The next packet is missing: the wait for it began when the first one behind it arrived. */
static void begin_to_wait(struct reorder *reorder)
{
    uint32_t sequence = reorder->next;
    while (slot_of(reorder, sequence)->packet.buffer == NULL)
        sequence++;
    reorder->waits_since_ns = slot_of(reorder, sequence)->arrived_ns;
}

bool reorder_next(struct reorder *reorder, struct reorder_packet *packet, uint64_t now)
{
    while (reorder->held > 0) {
        struct reorder_slot *slot = slot_of(reorder, reorder->next);
        if (slot->packet.buffer != NULL) {
            if (slot->due_ns > now && !is_below_floor(reorder))
                return false;
            take_out(reorder, slot, packet);
            if (reorder->held > 0 && slot_of(reorder, reorder->next)->packet.buffer == NULL)
                begin_to_wait(reorder);
            return true;
        }
        if (!may_give_up(reorder, now))
            return false;
        give_up(reorder, now);
    }
    give_up_to_floor(reorder, now);
    return false;
}

uint64_t reorder_due(const struct reorder *reorder, uint64_t now)
{
    const struct reorder_slot *slot = slot_of(reorder, reorder->next);
    if (reorder->held == 0)
        return NEVER;
    return slot->packet.buffer != NULL ? slot->due_ns : reorder->waits_since_ns + longest_wait_ns(reorder, now);
}

void reorder_restart(struct reorder *reorder, uint32_t start)
{
    if (reorder->held > 0)
        reorder->floor = reorder->next + reorder->window;
    reorder->started = false;
    reorder->start_known = true;
    reorder->start = start;
}

void reorder_compare(struct reorder *reorder, uint32_t announced)
{
    if (reorder->started && (int32_t)(reorder->next - announced) > IN_FLIGHT_MAX)
        reorder_restart(reorder, announced);
}

void reorder_pass(struct reorder *reorder, int path, uint32_t sequence)
{
    struct reorder_path *passed = &reorder->paths[path];
    if (passed->seen && (int32_t)(sequence - passed->newest) > 0)
        passed->newest = sequence;
}

void reorder_expect_path(struct reorder *reorder, int path, uint64_t now)
{
    reorder->paths[path] = (struct reorder_path){.seen = true, .newest = reorder->next - 1, .at_ns = now};
}
