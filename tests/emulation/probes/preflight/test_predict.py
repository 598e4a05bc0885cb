"""`preflight predict` on a real history: measured over an emulated link with cross traffic that changes every time.

`HISTORY=60` makes a longer history, as docs/preflight.md describes.
"""

import json
import math
import os
import random

import pytest

from flightpath.hosts import running
from probes.preflight.history.prediction import needed
from services.iperf3 import Iperf3Server
from tests.support.preflight_in_host import RATE_BPS, RTT_MS, preflight_over_a_link
from topologies.sandbox.sandbox import TEMPORARY

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

COUNT = int(os.environ.get("HISTORY", needed() + 2))


def cross_traffic(count: int) -> list[int]:
    """Rates of datagrams in bit/s: each remembers a part of the one before, as the load of a network does."""
    noise, state, rates = random.Random(1), 0.0, []
    for _ in range(count):
        state = 0.6 * state + noise.gauss(0, 0.25)
        rates.append(round(RATE_BPS * 0.4 / (1 + math.exp(-2 * state))))
    return rates


def test_a_real_history_predicts_what_is_measured_next():
    with preflight_over_a_link() as (testbed, sshd, preflight):
        client, server = testbed.net.hosts
        measuring = ("dtn", "--time", "1s", "--no-route", "-F", str(sshd.client_configuration), "--batch")
        with Iperf3Server(client, TEMPORARY):
            for number, rate in enumerate(cross_traffic(COUNT)):
                with running(server, ["iperf3", "-c", client.address(), "-u", "-b", str(rate), "-t", "100"]):
                    assert preflight(*measuring)[0] == 0
                if number == 1:
                    assert preflight("predict", "dtn")[0] == 4, "two are too few"

        code, told = preflight("predict", "dtn", "--transfer", "1GB", "--json")
        found = json.loads(told)
        goodput, rtt = found["expected"]["goodput"], found["expected"]["rtt"]
        assert code == 0 and found["measurements"] == COUNT
        assert 0.4 * RATE_BPS < goodput["low"] < goodput["value"] < goodput["high"]
        assert goodput["value"] < RATE_BPS
        assert RTT_MS <= rtt["value"] < 10 * RTT_MS
        code, told = preflight("predict", "dtn", "--back-test", "--json")
        assert code == 0 and json.loads(told)["back_tests"]["goodput"]["count"] == COUNT - needed()
        print(preflight("predict", "dtn", "--transfer", "1GB")[1], preflight("predict", "dtn", "--back-test")[1])
