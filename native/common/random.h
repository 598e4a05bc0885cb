/* Seeded random numbers: xoshiro256** (Blackman and Vigna), its state filled by splitmix64. */
#pragma once

#include <stdint.h>

struct random {
    uint64_t s[4];
};

static inline uint64_t random_splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Different streams of one seed are independent: one for each direction of a link. */
static inline void random_seed(struct random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed ^ random_splitmix(&stream);
    for (int i = 0; i < 4; i++)
        random->s[i] = random_splitmix(&state);
}

static inline uint64_t random_rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t *s = random->s;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Uniform in [0, 1), with the 53 bits that a double holds. */
static inline double random_fraction(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}
