#include "relay/line/impairments.h"

#include <math.h>

void impairments_init(struct impairments *impairments, uint64_t seed, uint64_t stream)
{
    struct random *sequences[] = {&impairments->loss, &impairments->burst, &impairments->duplication, &impairments->jitter};

    *impairments = (struct impairments){0};
    for (uint64_t i = 0; i < 4; i++)
        random_seed(sequences[i], seed, stream * 4 + i);
}

static bool happens(struct random *random, double probability)
{
    return probability > 0 && random_fraction(random) < probability;
}

bool impair_may_lose(const struct spec *spec)
{
    return spec->loss > 0 || spec->burst.enter > 0 || spec->burst.loss_good > 0;
}

/* Gilbert (1960) and Elliott (1963): the chain makes a step, then its state decides. Two numbers for each packet in any case, so
 * that the sequence does not depend on the probabilities. */
static bool burst_loses(struct impairments *impairments, const struct spec_burst *burst)
{
    double step = random_fraction(&impairments->burst), lot = random_fraction(&impairments->burst);
    if (step < (impairments->bad ? burst->leave : burst->enter))
        impairments->bad = !impairments->bad;
    return lot < (impairments->bad ? burst->loss_bad : burst->loss_good);
}

bool impair_loses(struct impairments *impairments, const struct spec *spec)
{
    bool lost = happens(&impairments->loss, spec->loss);
    if (spec->burst.enter > 0 || spec->burst.loss_good > 0)
        lost |= burst_loses(impairments, &spec->burst);
    return lost;
}

bool impair_duplicates(struct impairments *impairments, const struct spec *spec)
{
    return happens(&impairments->duplication, spec->duplicate);
}

/* Marsaglia's polar method. */
static double normal(struct impairments *impairments)
{
    double x, y, square;
    if (impairments->has_spare) {
        impairments->has_spare = false;
        return impairments->spare;
    }
    do {
        x = 2 * random_fraction(&impairments->jitter) - 1;
        y = 2 * random_fraction(&impairments->jitter) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double scale = sqrt(-2 * log(square) / square);
    impairments->spare = y * scale;
    impairments->has_spare = true;
    return x * scale;
}

uint64_t impair_delay(struct impairments *impairments, const struct spec *spec)
{
    if (spec->jitter_ns == 0)
        return spec->delay_ns;
    double deviation = spec->distribution == SPEC_UNIFORM ? 2 * random_fraction(&impairments->jitter) - 1 : normal(impairments);
    double delay = (double)spec->delay_ns + deviation * (double)spec->jitter_ns;
    return delay > 0 ? (uint64_t)delay : 0;
}
