"""Watchers of a run in the dashboard, as pages/live.js is one: `watchers.py HOST:PORT RUN HOW_MANY`.

Each asks for the run's state once a second, over a connection of its own that it keeps, and loads the page when the
state has changed, until the run has ended. Prints what they saw and how long answers took, as a JSON object, when all
have seen the end, or 60 s of given time after standard input has ended.
"""

import http.client
import json
import random
import re
import sys
import threading
import time
from dataclasses import dataclass, field

from tests.campaign.soak.given_time import GivenTime

PERIOD_S = 1.0
_LAST_S = 60.0
_TIMEOUT_S = 600.0
"""On this machine's clock; slow answers are judged by `slowest_s`."""

_CELLS, _STATUS = re.compile(r'data-cells="(\d+)"'), re.compile(r'data-status="(\w+)"')
_REPORTED = re.compile(r'data-reported="([^"]*)"')


@dataclass
class Watcher:
    """One browser, with the page open; `slowest_s` is the longest answer in given time."""

    where: str
    run: str
    given: GivenTime
    seen: list[int] = field(default_factory=list)
    status: str = "running"
    reported: str = ""
    pages_s: list[float] = field(default_factory=list)
    states_s: list[float] = field(default_factory=list)
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)

    def watch(self, is_over: threading.Event) -> None:
        """Looks until the run has ended, or nobody waits any more."""
        time.sleep(random.random() * PERIOD_S)
        connection = http.client.HTTPConnection(self.where, timeout=_TIMEOUT_S)
        while self.status == "running" and not is_over.is_set():
            try:
                self._refresh(connection)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                connection.close()
            time.sleep(PERIOD_S)

    def _refresh(self, connection: http.client.HTTPConnection) -> None:
        state = json.loads(self._get(connection, f"/runs/{self.run}/state", self.states_s))
        now = self.seen[-1] if self.seen else None, self.status, self.reported
        if now == (state["cells"], state["status"], state["reported"]):
            return
        page = self._get(connection, f"/runs/{self.run}", self.pages_s).decode()
        self.seen.append(int(_CELLS.search(page)[1]))
        self.status, self.reported = _STATUS.search(page)[1], _REPORTED.search(page)[1]

    def _get(self, connection: http.client.HTTPConnection, path: str, took_s: list[float]) -> bytes:
        begun_s, given_s = time.monotonic(), self.given.now_s()
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"{path}: {answer.status}")
        took_s.append(time.monotonic() - begun_s)
        self.slowest_s = max(self.slowest_s, self.given.now_s() - given_s)
        return content


def main(where: str, run: str, count: int) -> None:
    """Lets them watch, and prints what they saw."""
    is_over, given = threading.Event(), GivenTime()
    watchers = [Watcher(where, run, given) for _ in range(count)]
    threads = [threading.Thread(target=it.watch, args=(is_over,), daemon=True) for it in watchers]
    for thread in threads:
        thread.start()
    print("watching", flush=True)
    sys.stdin.read()
    end_s = given.now_s() + _LAST_S
    while any(thread.is_alive() for thread in threads) and given.now_s() < end_s:
        time.sleep(0.1)
    is_over.set()
    keys = ("seen", "status", "pages_s", "states_s", "slowest_s", "failures")
    print(json.dumps([{key: getattr(it, key) for key in keys} for it in watchers]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
