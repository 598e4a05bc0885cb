"""Tables of our own making: links to a satellite and to a cell, by models that are stated here.

`leo`: a link over a satellite 550 km high that relays to a gateway nearby. Every 15 s another satellite takes over, and
for 100 ms nothing passes. Each crosses the sky on a straight line at 7.6 km/s, and is at most 900 km away along it;
the delay is twice its distance at the speed of light, and 5 ms on the ground, once a second. The rate is drawn for
each satellite, from 50 to 150 Mb/s; 0.2 % of the packets are lost.

`lte`: the rate of one user in a cell, every 100 ms. Its logarithm is normal with memory (an Ornstein-Uhlenbeck
process): the median is 20 Mb/s, the standard deviation of the logarithm 0.7, and what has been is forgotten with a
time constant of 1 s. The delay is 25 ms; the cell repeats what is lost.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping

HANDOVER_S, OUTAGE_S = 15, 0.1
_HEIGHT_KM, _REACH_KM, _SPEED_KM_S, _LIGHT_KM_S, _GROUND_S = 550, 900, 7.6, 299_792.458, 0.005
_LEO_BPS = (50e6, 150e6)
_LTE_BPS, _LTE_DEVIATION, _LTE_MEMORY_S, _LTE_STEP_S = 20e6, 0.7, 1.0, 0.1


def leo(seconds: int, chance: random.Random) -> Iterator[str]:
    """Yields the lines of a table of a link over passing satellites."""
    bandwidth_bps, start_km = 0.0, 0.0
    for second in range(seconds):
        at_s, loss = float(second), "0.2%"
        if second % HANDOVER_S == 0:
            bandwidth_bps = chance.uniform(*_LEO_BPS)
            start_km = chance.uniform(-_REACH_KM, _REACH_KM - _SPEED_KM_S * HANDOVER_S)
            if second > 0:
                yield f"{second}s,,,100%"
                at_s += OUTAGE_S
        along_km = start_km + _SPEED_KM_S * (at_s % HANDOVER_S)
        delay_s = 2 * math.hypot(_HEIGHT_KM, along_km) / _LIGHT_KM_S + _GROUND_S
        yield f"{at_s:g}s,{bandwidth_bps / 1e6:.3f}Mbit,{delay_s * 1e3:.6f}ms,{loss}"


def lte(seconds: int, chance: random.Random) -> Iterator[str]:
    """Yields the lines of a table of one user's link in a cell."""
    kept = math.exp(-_LTE_STEP_S / _LTE_MEMORY_S)
    level = chance.gauss(0, _LTE_DEVIATION)
    for step in range(round(seconds / _LTE_STEP_S)):
        yield f"{step * _LTE_STEP_S:g}s,{_LTE_BPS * math.exp(level) / 1e6:.3f}Mbit,25ms,0%"
        level = kept * level + math.sqrt(1 - kept**2) * chance.gauss(0, _LTE_DEVIATION)


MODELS: Mapping[str, Callable[[int, random.Random], Iterator[str]]] = {"leo": leo, "lte": lte}


def table_of(model: str, seconds: int, seed: int) -> str:
    """Returns the text of a table (`topologies.links.tables`); a seed gives the same table each time."""
    # Named, so that the same seed draws other numbers for another model.
    lines = MODELS[model](seconds, random.Random(f"{model} {seed}"))
    return "\n".join(["time,bandwidth,delay,loss", *lines, f"{seconds}s,end", ""])
