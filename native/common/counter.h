/* Counters that one thread writes and others may read at any time. They are relaxed atomics: a snapshot of several is
 * exact only when the program is at rest. */
#pragma once

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

/* Needs no locked instruction, because there is one writer. */
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
