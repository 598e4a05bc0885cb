/* seeded_random.so: gives a virtual-time kernel the same random numbers each time (LD_PRELOAD).
 *
 * User-Mode Linux seeds its random numbers with getrandom() of the machine. Everything random in it comes from
 * them, from ports and sequence numbers to hash seeds. Here they are a function of FLIGHTPATH_SEED (SplitMix64; Steele,
 * Lea and Flood, 2014). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15u

static uint64_t state;

__attribute__((constructor)) static void seed(void) {
    const char *value = getenv("FLIGHTPATH_SEED");
    state = value ? strtoull(value, NULL, 10) : 0;
}

static uint64_t next(void) {
    uint64_t mixed = state += GOLDEN_GAMMA;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    (void)flags;
    for (size_t done = 0; done < size; done += sizeof state) {
        uint64_t number = next();
        memcpy((char *)buffer + done, &number, size - done < sizeof number ? size - done : sizeof number);
    }
    return (ssize_t)size;
}
