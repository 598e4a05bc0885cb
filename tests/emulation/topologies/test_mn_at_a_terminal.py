"""Mininet's own `mn` with Flightpath's file, and a person at the keyboard."""

import shutil
import time

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


def test_ctrl_c_ends_a_command_and_leaves_the_network():
    prompt = "mininet> "
    words = ["mn", "--custom", "topologies/mn.py", "--topo", "single,2", "--link", "relay,bw=10"]
    with Terminal(words) as terminal:
        terminal.read_until(prompt)
        terminal.type("h1 ping h2\n")
        terminal.read_until("icmp_seq=2")
        terminal.type("\x03")
        assert "packet loss" in terminal.read_until(prompt)
        for _ in range(10):
            time.sleep(0.2)  # a person is not faster than readline
            terminal.type("\x03")
            terminal.read_until(prompt)
        terminal.type("links\n")
        assert terminal.read_until(prompt).count("(OK OK)") == 2
        terminal.type("pingall\n")
        assert "0% dropped (2/2 received)" in terminal.read_until(prompt)
        terminal.type("exit\n")
        assert terminal.exit_code() == 0
