"""What the kernel's counters say of a netem link: without it five places would tell five stories of one packet.

gate        counts what enters, and what a black hole swallowed
queue       the leaf of htb: its drops and marks
htb         what was serialised, and what waits
netem       what left, was lost, or is in propagation
interfaces  what could not be handed over
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flightpath.commands import require, run
from topologies.links.traffic_control import HTB, NETEM, QUEUE, Stages


@dataclass(frozen=True)
class Lost:
    """Packets that were inside when the cable was cut: no counter of the kernel has them."""

    waiting: int
    in_flight: int


NO_LOSS = Lost(0, 0)


@dataclass(frozen=True)
class Reading:
    """All counters of a link, read at once (each part is consistent in itself).

    Attributes:
        qdiscs: by interface and handle, as `tc -s -j qdisc` tells them.
        gates: statistics of each action, by index.
        refused: packets by interface that its cable's other end did not take.
    """

    qdiscs: Mapping[tuple[str, str], Mapping[str, Any]]
    gates: Mapping[int, Mapping[str, Any]]
    refused: Mapping[str, int]

    @classmethod
    def take(cls, names: Sequence[str], gates: Sequence[int]) -> "Reading":
        """Reads the counters of interfaces and gates."""
        lines = [f"actions get action gact index {gate}" for gate in gates]
        lines += [f"qdisc show dev {name}" for name in names]
        told = run([require("tc"), "-s", "-j", "-batch", "-"], stdin="\n".join(lines))
        links = run(["ip", "-s", "-j", "-batch", "-"], stdin="\n".join(f"link show dev {name}" for name in names))
        return cls.parse(told, links, names)

    @classmethod
    def parse(cls, tc_told: str, ip_told: str, names: Sequence[str]) -> "Reading":
        """From the two programs' JSON; `tc` was asked for the gates, and then for the qdiscs of each name in turn."""
        parts = list(_json_values(tc_told))
        actions, per_name = parts[: -len(names)], parts[-len(names) :]
        gates = {action["index"]: action["stats"] for part in actions for action in _actions(part)}
        qdiscs = {
            (name, qdisc["handle"]): qdisc for name, found in zip(names, per_name, strict=True) for qdisc in found
        }
        refused = {link["ifname"]: link["stats64"]["tx"]["dropped"] for part in _json_values(ip_told) for link in part}
        return cls(qdiscs, gates, refused)

    def direction(self, stages: Stages, lost: Lost) -> dict[str, Any]:
        """The counters of one direction, in the form of EmulatedLink.stats."""
        gate, netem = self.gates[stages.gate], self._netem(stages)
        queue_drops, aqm_drops = self._queue_drops(stages, lost)
        refused = self.refused[stages.exit]
        arrived = self._htb(stages)["packets"] - self.refused[stages.rate]
        gone = netem["packets"] + netem["drops"] + netem["qlen"] + lost.in_flight
        return {
            "in_packets": gate["packets"],
            "in_bytes": gate["bytes"],
            "out_packets": netem["packets"] - refused,
            "out_bytes": netem["bytes"],
            "queued_packets": self._htb(stages)["qlen"] + netem["qlen"],
            "queued_bytes": self._htb(stages)["backlog"] + netem["backlog"],
            "duplicated_packets": max(0, gone - arrived),
            "ecn_marked": self._queue(stages).get("ecn_mark", 0),
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
        }

    def in_flight(self, stages: Stages) -> int:
        """Packets in propagation."""
        return self._netem(stages)["qlen"]

    def left(self, stages: Stages) -> int:
        """Packets that have been through netem."""
        return self._netem(stages)["packets"]

    def unserialised(self, stages: Stages) -> int:
        """Packets that entered, and have neither been serialised nor dropped by the queue."""
        gate = self.gates[stages.gate]
        return gate["packets"] - gate["drops"] - self._queue(stages)["drops"] - self._htb(stages)["packets"]

    def _queue_drops(self, stages: Stages, lost: Lost) -> tuple[int, int]:
        """Packets that found no room, and those that an active queue management dropped.

        The kernel counts a dropped super-frame once. Its segments are what is missing when nothing waits.
        """
        queue = self._queue(stages)
        if "drop_overlimit" in queue:
            return queue["drop_overlimit"], queue["drops"] - queue["drop_overlimit"]
        missing = 0 if self._htb(stages)["qlen"] else self.unserialised(stages) - lost.waiting
        return queue["drops"] + max(0, missing), 0

    def _htb(self, stages: Stages) -> Mapping[str, Any]:
        return self.qdiscs[stages.rate, HTB]

    def _queue(self, stages: Stages) -> Mapping[str, Any]:
        return self.qdiscs[stages.rate, QUEUE]

    def _netem(self, stages: Stages) -> Mapping[str, Any]:
        return self.qdiscs[stages.exit, NETEM]


def lost_at_down(stages: Stages, before: Lost, middle_down: Reading, all_down: Reading) -> Lost:
    """What was inside when the cable was cut, added to what was lost so before.

    Args:
        stages: the direction.
        before: lost until now.
        middle_down: read when nothing could be serialised any more; what was in flight still was.
        all_down: read when all is at rest.
    """
    still_left = all_down.left(stages) - middle_down.left(stages)
    in_flight = middle_down.in_flight(stages) - still_left
    return Lost(all_down.unserialised(stages), before.in_flight + max(0, in_flight))


def _json_values(text: str) -> Iterator[Any]:
    """One after the other: `-batch` prints a value for each line."""
    decoder, position = json.JSONDecoder(), 0
    while (position := position + len(text[position:]) - len(text[position:].lstrip())) < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value


def _actions(part: Any) -> Iterator[Mapping[str, Any]]:
    for entry in part:
        yield from entry.get("actions", ())
