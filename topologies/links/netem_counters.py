"""Counters of a netem link, combined from those of the kernel:

gate        packets that entered, and those that a black hole dropped
queue       the leaf of htb: drops and marks
htb         packets that were serialised, and those in the queue
netem       packets that left, were lost, or are in propagation
interfaces  packets that could not be delivered
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flightpath.commands import require, run
from topologies.links.dualpi2 import UNKNOWN_TO_TC
from topologies.links.spec import COUNTERS
from topologies.links.traffic_control import HTB, NETEM, QUEUE, Stages

_OVER_LIMIT = {"codel": "drop_overlimit", "fq_codel": "drop_overlimit", "pie": "overlimit", "dualpi2": "overlimits"}
"""For queues that also drop early: the counter of packets that were dropped because the queue was full."""

_DEVICES = Path("/proc/net/dev")
_SENT_DROPPED = 11  # column after the name: eight of reception, then bytes, packets, errors


@dataclass(frozen=True)
class Lost:
    """Packets that were inside when the cable was cut. The kernel does not count them."""

    waiting: int
    in_flight: int


NO_LOSS = Lost(0, 0)


@dataclass(frozen=True)
class Reading:
    """All counters of a link, read together (each part is consistent in itself).

    Attributes:
        qdiscs: queueing disciplines by interface and handle, from `tc -s -j qdisc`.
        gates: statistics of each gate's action, by index.
        refused: for each interface, packets that the other end of its pair did not accept.
        dualpi2: statistics of queues of this kind, by interface.
    """

    qdiscs: Mapping[tuple[str, str], Mapping[str, Any]]
    gates: Mapping[int, Mapping[str, Any]]
    refused: Mapping[str, int]
    dualpi2: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def take(cls, names: Sequence[str], gates: Sequence[int]) -> "Reading":
        """Reads the counters of interfaces and gates."""
        lines = [f"actions get action gact index {gate}" for gate in gates]
        lines += [f"qdisc show dev {name}" for name in names]
        tc_output = run([require("tc"), "-s", "-j", "-batch", "-"], stdin="\n".join(lines))
        return cls.parse(tc_output, _DEVICES.read_text(), names)

    @classmethod
    def parse(cls, tc_output: str, devices: str, names: Sequence[str]) -> "Reading":
        """Parses JSON of tc(8), first the gates and then the qdiscs of each interface in turn, and /proc/net/dev."""
        values = list(_json_values(UNKNOWN_TO_TC.sub("", tc_output)))
        actions, per_name = values[: -len(names)], values[-len(names) :]
        entries = (entry for value in actions for entry in value)
        gates = {action["index"]: action["stats"] for entry in entries for action in entry.get("actions", ())}
        qdiscs = {
            (name, qdisc["handle"]): qdisc for name, qdiscs in zip(names, per_name, strict=True) for qdisc in qdiscs
        }
        counters = {
            name.strip(): line.split() for name, _, line in (row.partition(":") for row in devices.splitlines())
        }
        return cls(qdiscs, gates, {name: int(counters[name][_SENT_DROPPED]) for name in names})

    def direction(self, stages: Stages, lost: Lost) -> dict[str, Any]:
        """Returns the counters of one direction, in the form of EmulatedLink.stats."""
        gate, htb, queue, netem = self.parts(stages)
        own = self.dualpi2.get(stages.rate)
        if queue["kind"] in _OVER_LIMIT:
            queue_drops = queue[_OVER_LIMIT[queue["kind"]]]
            aqm_drops = queue["drops"] - queue_drops
        else:
            # The kernel counts a dropped GSO packet once. Its other segments are those that are still missing when the
            # queue is empty.
            missing = 0 if htb["qlen"] else self.unserialised(stages) - lost.waiting
            queue_drops, aqm_drops = queue["drops"] + max(0, missing), 0
        refused = self.refused[stages.exit]
        arrived = htb["packets"] - self.refused[stages.rate]
        gone = netem["packets"] + netem["drops"] + netem["qlen"] + lost.in_flight
        # While the exit's interface comes up, the kernel refuses packets before netem counts them.
        refused_after_netem = max(0, refused - max(0, arrived - gone))
        return {
            "in_packets": gate["packets"],
            "in_bytes": gate["bytes"],
            "out_packets": netem["packets"] - refused_after_netem,
            "out_bytes": netem["bytes"],
            "queued_packets": htb["qlen"] + netem["qlen"],
            "queued_bytes": htb["backlog"] + netem["backlog"],
            **dict.fromkeys(COUNTERS),
            "duplicated_packets": max(0, gone - arrived),
            "ecn_marked": (own or queue).get("ecn_mark", 0),
            "queue_peak_bytes": None,
            "drops": {
                "queue": queue_drops,
                "aqm": aqm_drops,
                "loss": netem["drops"],
                "blackhole": gate["drops"],
                "down": lost.waiting + lost.in_flight,
                "malformed": 0,
                "device": refused + self.refused[stages.rate],
            },
            "lateness_ns": None,
            **({"dualpi2": own} if own else {}),
        }

    def unserialised(self, stages: Stages) -> int:
        """Returns the packets that entered and were neither serialised nor dropped by the queue."""
        gate, htb, queue, _netem = self.parts(stages)
        return gate["packets"] - gate["drops"] - queue["drops"] - htb["packets"]

    def parts(self, stages: Stages) -> tuple[Mapping[str, Any], ...]:
        """Returns the counters of a direction's gate, htb, queue and netem."""
        keys = ((stages.rate, HTB), (stages.rate, QUEUE), (stages.exit, NETEM))
        return self.gates[stages.gate], *(self.qdiscs[key] for key in keys)


def lost_at_down(stages: Stages, before: Lost, middle_down: Reading, all_down: Reading) -> Lost:
    """Returns the packets lost when the cable was cut, added to those of earlier cuts.

    Args:
        middle_down: counters when the middle was down: nothing is serialised, but packets are still in flight.
        all_down: counters when all interfaces were down.
    """
    (*_, then), (*_, now) = middle_down.parts(stages), all_down.parts(stages)
    in_flight = then["qlen"] - (now["packets"] - then["packets"])
    return Lost(all_down.unserialised(stages), before.in_flight + max(0, in_flight))


def _json_values(text: str) -> Iterator[Any]:
    """Yields the JSON values in a text: `-batch` prints one per line."""
    decoder, position = json.JSONDecoder(), 0
    while (position := position + len(text[position:]) - len(text[position:].lstrip())) < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
