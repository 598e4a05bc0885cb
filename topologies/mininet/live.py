"""Reports of running networks for the dashboard: what each link carries, once a second, in the store's folder."""

import contextlib
import fcntl
import json
import os
import shlex
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from mininet.link import Link
from mininet.net import Mininet

from flightpath.clock import Clock, clock_here

STORE, FOLDER = Path("results/runs"), ".networks"
"""Folder of the store in the working directory, and the folder in it with a file for each command."""

_PERIOD_S, _SHOWN, _SHOWN_WAYS = 1.0, 120, 4
_SHARE_OF_TIME = 0.01
"""Largest share of the time that goes into reading counters; those of a large network are read less often."""

_Bytes = Mapping[tuple[str, str], int]
"""Bytes that arrived over a link (its two interfaces) at the second interface of the pair."""


class LiveReport:
    """Reports networks while they run on the real clock, if there is a store.

    The file beside the report is locked as long as this process lives, so a reader can tell whether it was killed.
    """

    def __init__(self) -> None:
        self._networks: list[Mininet] = []
        self._samples: deque[tuple[float, _Bytes]] = deque(maxlen=_SHOWN + 1)
        self._file: Path | None = None
        self._began_s = 0.0
        self._guard = threading.Lock()

    def watch(self, network: Mininet) -> None:
        """Begins to report a network that has started."""
        with self._guard:
            self._networks.append(network)
        if self._file is None and clock_here() is Clock.REAL and STORE.is_dir():
            with contextlib.suppress(OSError):  # the store is another user's
                self._begin()

    def leave(self, network: Mininet) -> None:
        """Ends the report of a network that stops."""
        with self._guard:
            if network in self._networks:
                self._networks.remove(network)
            if not self._networks and self._file is not None:
                for suffix in (".json", ".lock"):
                    self._file.with_suffix(suffix).unlink(missing_ok=True)
                self._file = None

    def _begin(self) -> None:
        folder = STORE.resolve() / FOLDER
        folder.mkdir(exist_ok=True)
        _remove_dead(folder)
        file = folder / f"{time.time_ns()}-{os.getpid()}.json"
        lock = os.open(file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(lock, fcntl.LOCK_EX)
        owner = folder.parent.stat()
        for path in (folder, file.with_suffix(".lock")):
            with contextlib.suppress(OSError):
                os.chown(path, owner.st_uid, owner.st_gid)
        self._file, self._began_s = file, time.monotonic()
        threading.Thread(target=self._run, args=(file, lock), daemon=True).start()

    def _run(self, file: Path, lock: int) -> None:
        pause_s = 0.0
        while file == self._file:
            time.sleep(pause_s)
            began_s = time.monotonic()
            with contextlib.suppress(OSError), self._guard:  # a disk may be full; the next report may succeed
                if file == self._file:
                    self._report(file)
            pause_s = max(_PERIOD_S, (time.monotonic() - began_s) / _SHARE_OF_TIME)
        os.close(lock)

    def _report(self, file: Path) -> None:
        links = [link for network in self._networks for link in network.links]
        self._samples.append((time.monotonic(), _arrived(links)))
        report = {
            "command": shlex.join(sys.argv),
            "told_at": datetime.now(UTC).isoformat(),
            "hosts": [host.name for network in self._networks for host in network.hosts],
            "links": list(self._loads(links)),
            "series": dict(self._series()),
        }
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(report), encoding="utf-8")
        fresh.replace(file)

    def _loads(self, links: Iterable[Link]) -> Iterator[Mapping[str, Any]]:
        (before_s, before), (now_s, now) = self._samples[max(0, len(self._samples) - 2)], self._samples[-1]
        for link in links:
            a, b = (str(end) for end in (link.intf1, link.intf2))
            rates = [8 * (now.get(way, 0) - before.get(way, 0)) / (now_s - before_s or 1.0) for way in ((a, b), (b, a))]
            limits = [getattr(getattr(link, way, None), "bandwidth_bps", None) for way in ("a_to_b", "b_to_a")]
            yield {"name": f"{a}:{b}", "interfaces": f"{a}:{b}", "rate_bps": rates, "limit_bps": limits}

    def _series(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yields the rates of the busiest directions of links over the last two minutes."""
        (_, first), (_, last) = self._samples[0], self._samples[-1]
        carried = {way: last[way] - first.get(way, last[way]) for way in last}
        for way in sorted(carried, key=carried.__getitem__, reverse=True)[:_SHOWN_WAYS]:
            times, values = [], []
            for (begin_s, before), (end_s, after) in pairwise(self._samples):
                if way in before and way in after:
                    times.append(begin_s - self._began_s)
                    values.append(8 * (after[way] - before[way]) / (end_s - begin_s))
            if times:
                name = " → ".join(interface.rpartition("-eth")[0] or interface for interface in way)
                yield f"{name} ({way[0]})", {"unit": "bit/s", "times_s": times, "values": values}


def _arrived(links: Iterable[Link]) -> _Bytes:
    """Reads what the interfaces of links have received, of each namespace once."""
    received: dict[int, Mapping[str, int]] = {}
    counted = {}
    for link in links:
        for source, target in ((link.intf1, link.intf2), (link.intf2, link.intf1)):
            pid = target.node.pid if getattr(target.node, "inNamespace", False) else None
            pid = pid or os.getpid()
            if pid not in received:
                received[pid] = dict(_received(pid))
            if (count := received[pid].get(str(target))) is not None:
                counted[str(source), str(target)] = count
    return counted


def _received(pid: int) -> Iterator[tuple[str, int]]:
    with contextlib.suppress(OSError):  # the node has ended
        for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]:
            name, _, counters = line.partition(":")
            yield name.strip(), int(counters.split()[0])


def _remove_dead(folder: Path) -> None:
    """Removes reports of processes that were killed."""
    for lock in folder.glob("*.lock"):
        with contextlib.suppress(OSError), lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in folder.glob(f"{lock.stem}.*"):
                path.unlink(missing_ok=True)


LIVE = LiveReport()
"""Report of all networks of this process."""
