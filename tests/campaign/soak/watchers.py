"""Browsers of a dashboard: `watchers.py HOST:PORT RUN HOW_MANY`.

So many watch a run, as pages/live.js does: each asks for the run's state once a second, and loads the page when the
state has changed, until the run has ended. Some others look at the other pages meanwhile. Prints what all of them saw
and how long answers took, as a JSON object, when all have seen the end, or 60 s of given time after standard input has
ended.
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

_VISITORS, _PAGES = 2, ("/", "/history", "/compare")
_CELLS, _STATUS = re.compile(r'data-cells="(\d+)"'), re.compile(r'data-status="(\w+)"')
_REPORTED = re.compile(r'data-reported="([^"]*)"')


@dataclass
class Visitor:
    """One browser, which looks at the pages that are no run's; `slowest_s` is the longest answer in given time."""

    where: str
    given: GivenTime
    is_over: threading.Event
    pages_s: list[float] = field(default_factory=list)
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Looks again and again until there is nothing more to see, or nobody waits any more."""
        time.sleep(random.random() * PERIOD_S)
        connection = http.client.HTTPConnection(self.where, timeout=_TIMEOUT_S)
        while self.expects_more() and not self.is_over.is_set():
            try:
                self.refresh(connection)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                connection.close()
            time.sleep(PERIOD_S)

    def expects_more(self) -> bool:
        return True

    def refresh(self, connection: http.client.HTTPConnection) -> None:
        for page in _PAGES:
            self.get(connection, page, self.pages_s)

    def get(self, connection: http.client.HTTPConnection, path: str, took_s: list[float]) -> bytes:
        begun_s, given_s = time.monotonic(), self.given.now_s()
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"{path}: {answer.status}")
        took_s.append(time.monotonic() - begun_s)
        self.slowest_s = max(self.slowest_s, self.given.now_s() - given_s)
        return content


@dataclass
class Watcher(Visitor):
    """One with the page of a run open: how many cells it saw, one after the other, and the run's status."""

    run: str = ""
    seen: list[int] = field(default_factory=list)
    status: str = "running"
    reported: str = ""
    states_s: list[float] = field(default_factory=list)

    def expects_more(self) -> bool:
        return self.status == "running"

    def refresh(self, connection: http.client.HTTPConnection) -> None:
        state = json.loads(self.get(connection, f"/runs/{self.run}/state", self.states_s))
        now = self.seen[-1] if self.seen else None, self.status, self.reported
        if now == (state["cells"], state["status"], state["reported"]):
            return
        page = self.get(connection, f"/runs/{self.run}", self.pages_s).decode()
        self.seen.append(int(_CELLS.search(page)[1]))
        self.status, self.reported = _STATUS.search(page)[1], _REPORTED.search(page)[1]


def main(where: str, run: str, count: int) -> None:
    is_over, given = threading.Event(), GivenTime()
    watchers = [Watcher(where, given, is_over, run=run) for _ in range(count)]
    visitors = [Visitor(where, given, is_over) for _ in range(_VISITORS)]
    threads = [threading.Thread(target=it.look, daemon=True) for it in (*watchers, *visitors)]
    for thread in threads:
        thread.start()
    print("watching", flush=True)
    sys.stdin.read()
    end_s = given.now_s() + _LAST_S
    while any(thread.is_alive() for thread in threads[:count]) and given.now_s() < end_s:
        time.sleep(0.1)
    is_over.set()
    keys = ("pages_s", "slowest_s", "failures")
    of_watchers = [{key: getattr(it, key) for key in (*keys, "seen", "status", "states_s")} for it in watchers]
    print(json.dumps([of_watchers, [{key: getattr(it, key) for key in keys} for it in visitors]]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
