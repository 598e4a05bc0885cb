"""The virtual-time kernel's own algorithms have the windows of our programs in simulation, ACK for ACK.

The kernel's run over links which lose a segment in slow start and one later; the simulation loses the same. That it has
the same windows shows two things at once: the program does what Linux does, and the simulation calls it as Linux would.
"""

from dataclasses import replace

import pytest

import congestion
from probes.transfers.tcp_flow import RECOVERY, FlowTrace
from tests.support import congestion_links
from tests.support.congestion_links import link
from tests.support.congestion_simulation import Trial, simulate
from tests.support.rings import nightly

SECONDS = 5
LINK = replace(link(6, 100, 60), loss=0.0005)
SEED = 1  # two losses in slow start and after it, and no full queue, which loses half of all that is sent
FIRST_RING = {"htcp", "vegas"}
OTHERS = set(congestion.shipped()) - {"elastic", *FIRST_RING}  # no kernel has elastic
MEASURING = ("htcp", "illinois", "westwood")
"""They calculate with times and rates, and a relay needs some microseconds more for a packet than the simulation."""

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]


def lost(trace: FlowTrace) -> frozenset[int]:
    """The first segment that was missing in each recovery."""
    columns = zip(*(trace.columns[name] for name in ("ca_state", "acked_bytes", "sent_mss")), strict=True)
    return frozenset(acked // mss for state, acked, mss in columns if state == RECOVERY)


@pytest.mark.parametrize("names", [FIRST_RING, nightly(OTHERS)], ids=len)
def test_the_kernel_s_own_algorithm_has_the_window_of_the_program(names):
    for name, flow in congestion_links.run(sorted(names), LINK, SECONDS, SEED).items():
        assert len(lost(flow)) >= 2, name
        acks = simulate(Trial(name, LINK, SECONDS, lost=lost(flow)))
        # The kernel counts the handshake as delivered, too.
        theirs = dict(zip((each - 2 for each in flow.columns["delivered"]), flow.columns["cwnd"], strict=True))
        both = [(acks[number].cwnd, cwnd) for number, cwnd in theirs.items() if 0 <= number < len(acks)]
        assert len(both) > 1000, name
        assert [pair for pair in both if abs(pair[0] - pair[1]) > (name in MEASURING)] == [], name
