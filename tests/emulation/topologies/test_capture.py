"""Captures on the real clock, where a program may have no processor for a while."""

import os
import signal
import threading

import pytest

from topologies.capture.capture import PacketCapture
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed


@pytest.mark.in_sandbox
def test_a_capture_that_ends_has_what_its_writer_had_no_time_for_yet():
    with Testbed(DtnPair(LinkSpec(bandwidth_bps=1_000_000_000), switched=False)) as testbed:
        near, far = testbed.net.hosts
        with PacketCapture(near, f"{near.name}-eth0", TEMPORARY / "pings.pcapng", "icmp") as capture:
            os.kill(capture._writer.pid, signal.SIGSTOP)
            near.run(["ping", "-q", "-f", "-c", "2000", far.address()])
            threading.Timer(0.2, os.kill, (capture._writer.pid, signal.SIGCONT)).start()
        assert capture.captured.dropped == 0 and capture.captured.packets >= 4000
