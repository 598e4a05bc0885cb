#include "relay/line/codel.h"

#include <math.h>

/* A phase that begins so soon after the previous one continues at its rate. */
#define RECENT_NS (16 * CODEL_INTERVAL_NS)

bool codel_should_drop(struct codel *codel, uint64_t waited_ns, uint64_t backlog_bytes, uint64_t now)
{
    if (waited_ns < CODEL_TARGET_NS || backlog_bytes <= CODEL_BACKLOG_BYTES) {
        codel->first_above_ns = 0;
        return false;
    }
    if (codel->first_above_ns == 0) {
        codel->first_above_ns = now + CODEL_INTERVAL_NS;
        return false;
    }
    return now >= codel->first_above_ns;
}

uint64_t codel_next(uint64_t from_ns, uint32_t count)
{
    return from_ns + (uint64_t)((double)CODEL_INTERVAL_NS / sqrt(count));
}

void codel_enter(struct codel *codel, uint64_t now)
{
    uint32_t more = codel->count - codel->last_count;
    codel->dropping = true;
    codel->count = more > 1 && now < codel->drop_next_ns + RECENT_NS ? more : 1;
    codel->last_count = codel->count;
    codel->drop_next_ns = codel_next(now, codel->count);
}
