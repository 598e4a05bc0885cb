#include "relay/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

bool schedule_add(struct schedule *schedule, uint64_t at_ns, const char *request)
{
    size_t bytes = strlen(request) + 1;
    struct scheduled *added = schedule->count < SCHEDULE_MAX ? malloc(sizeof *added + bytes) : NULL;
    if (added == NULL)
        return false;
    added->at_ns = at_ns;
    memcpy(added->request, request, bytes);
    struct scheduled **place = &schedule->first;
    while (*place != NULL && (*place)->at_ns <= at_ns)
        place = &(*place)->next;
    added->next = *place;
    *place = added;
    schedule->count++;
    return true;
}

uint64_t schedule_next(const struct schedule *schedule)
{
    return schedule->first == NULL ? NEVER : schedule->first->at_ns;
}

struct scheduled *schedule_pop(struct schedule *schedule, uint64_t now)
{
    struct scheduled *first = schedule->first;
    if (first == NULL || first->at_ns > now)
        return NULL;
    schedule->first = first->next;
    schedule->count--;
    return first;
}
