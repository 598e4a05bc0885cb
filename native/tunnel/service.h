/* A model of a slow processor: a thread of the tunnel is busy for a service time with each packet, one after the other,
 * so that a queue builds before it. It is exact in virtual time, in which computing takes no time of its own.
 *
 * The clock is read only after the thread had nothing to do, because each reading takes some virtual time. */
#pragma once

#include <errno.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/counter.h"

struct service {
    uint64_t packet_ns; /* of each packet; 0 if there is no model */
    uint64_t free_ns;   /* when the thread has served what it has taken */
    counter spent_ns;
};

/* For the thread that serves, when it starts. By default its timers may be 50 us late. */
static inline void service_begin(struct service *service, uint64_t packet_ns)
{
    if (packet_ns == 0)
        return;
    service->packet_ns = packet_ns;
    service->free_ns = clock_now();
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

/* The thread has waited for packets until now. */
static inline void service_waited(struct service *service, uint64_t now)
{
    service->free_ns = now;
}

/* Waits until the packets are served. Returns at once if there is no model. */
static inline void service_spend(struct service *service, uint64_t packets)
{
    if (service->packet_ns == 0 || packets == 0)
        return;
    service->free_ns += packets * service->packet_ns;
    const struct timespec done = clock_split(service->free_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &done, NULL) == EINTR)
        ;
    counter_add(&service->spent_ns, packets * service->packet_ns);
}
