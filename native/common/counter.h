/* Numbers that one thread counts and others read at any time: relaxed atomics, so a snapshot of a busy program may be a step
 * out of step with itself, and one at rest is exact. */
#ifndef FLIGHTPATH_COUNTER_H
#define FLIGHTPATH_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

static inline uint64_t counter_read(const counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void counter_write(counter *c, uint64_t value)
{
    atomic_store_explicit(c, value, memory_order_relaxed);
}

/* One writer: no locked instruction needed. */
static inline void counter_add(counter *c, uint64_t n)
{
    counter_write(c, counter_read(c) + n);
}

static inline void counter_subtract(counter *c, uint64_t n)
{
    counter_write(c, counter_read(c) - n);
}

static inline void counter_raise(counter *c, uint64_t value)
{
    if (value > counter_read(c))
        counter_write(c, value);
}

#endif
