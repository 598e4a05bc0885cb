"""Texts that describe links, events and plans, also from a stored run: a specification that holds, or a usage error."""

import contextlib
import json
import math
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from experiments.plan import Plan, restrictions
from flightpath import units
from flightpath.errors import UsageError
from results.records import RunRecord, RunStatus
from scenarios.command.resuming import _plan_of
from tests.fuzz.mutation import dump, vary_json, vary_text
from topologies.links.events import LinkEvent
from topologies.links.spec import LinkSpec
from topologies.links.texts import link_spec, short_link
from topologies.links.traces import read_trace

_LINKS = (
    "bandwidth=50Mbit delay=10ms loss=0.1% queue=1bdp jitter=1ms reorder=on duplicate=1% corrupt=0.5%",
    "bandwidth=1Gbit,queue=100p,discipline=fq_codel,ecn=on,mtu=9000,burst_loss=1%:25%:90%:0.1%",
    "queue=20ms bandwidth=10kbit", "rate=3 delay=0",
)  # fmt: skip
_SHORT = ("50Mbit,5ms", "1Gbit,10ms,1bdp,0.1%")
_EVENTS = ("10s h1-s1 bandwidth=10Mbit delay=5ms", "20s h1-s1 down", "1500ms h1->s1 blackhole=on loss=3%", "1s a up")
_UNITS = ("50Mbit", "10ms", "0.1%", "150kB", "2h", "1.5GiB")
_TRACES = ("1\n2\n2\n5\n", "10\n", "0\n0\n7")
_PLAN = {
    **{"form": "quick", "axes": {"protocol": ["mptcp", "tcp"], "load": [500.0]}, "settings": {"seconds": 5.0}},
    **{"repeat": 2, "seed": 1, "only": {"protocol": ["tcp"]}, "events": ["10s h1-s1 down"]},
}


def made(chance: random.Random) -> bytes:
    """The first byte says what it is."""
    kind = chance.randrange(len(_READERS))
    if kind == 0:
        return b"\0" + dump(vary_json(chance, _PLAN))
    return bytes([kind]) + vary_text(chance, _READERS[kind][0]).encode(errors="surrogatepass")


def read(data: bytes) -> None:
    _seeds, reader = _READERS[data[0] % len(_READERS) if data else 0]
    with contextlib.suppress(UsageError):
        reader(data[1:].decode(errors="surrogatepass"))


def _read_plan(text: str) -> None:
    record = RunRecord("r", "s", json.loads(text), (), {}, datetime.now(UTC), None, RunStatus.DONE)
    plan = _plan_of(record)
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    plan.link_events()
    assert len(plan.cells()) <= plan.repeat * math.prod(map(len, plan.axes.values()))


def _read_link(text: str, parse: Callable[[str], LinkSpec | None] = link_spec) -> None:
    """A specification can be made again of its parts, and its texts hold."""
    spec = parse(text)
    if spec is None:
        return
    assert LinkSpec(**vars(spec)) == spec
    str(spec)
    for text in map(str, spec.settings.values()):
        assert not set(text) & set(" ,\n"), text
    assert spec.queue_bytes >= 0


def _read_event(text: str) -> None:
    event = LinkEvent.parse(text)
    assert LinkEvent.parse(str(event)) == event
    event.fields  # noqa: B018 (reads the changes)


def _read_units(text: str) -> None:
    for parse in (units.parse_bandwidth, units.parse_duration, units.parse_probability, units.parse_bytes):
        with contextlib.suppress(UsageError):
            assert 0 <= parse(text) < float("inf")
    with contextlib.suppress(UsageError):
        restrictions([text])


def _read_trace(text: str) -> None:
    with tempfile.NamedTemporaryFile(prefix="flightpath-fuzz-") as file:
        Path(file.name).write_bytes(text.encode(errors="surrogatepass"))
        assert read_trace(Path(file.name)).mean_bps > 0


_READERS: list[tuple[tuple[str, ...], Callable[[str], None]]] = [
    ((json.dumps(_PLAN),), _read_plan),
    (_LINKS, _read_link),
    (_SHORT, partial(_read_link, parse=short_link)),
    (_EVENTS, _read_event),
    (_UNITS, _read_units),
    (_TRACES, _read_trace),
]
