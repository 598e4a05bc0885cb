"""Mininet's walkthrough (mininet.org/walkthrough), line by line, without windows; rates are in test_mn_rates."""

import re
import shutil

import pytest

from tests.support.mininet_command import mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")

INTERACT = {
    "help": "Documented commands",
    "nodes": "c0 h1 h2 s1",
    "net": "h1 h1-eth0:s1-eth1",
    "dump": "<Host h1: h1-eth0:10.0.0.1 pid=",
    "h1 ifconfig -a": "inet 10.0.0.1",
    "s1 ifconfig -a": "s1-eth2: flags=",
    "h1 ps -a": "PID TTY",
    "h1 ping -c 1 h2": "1 packets transmitted, 1 received, 0% packet loss",
    "pingall": "*** Results: 0% dropped (2/2 received)",
    "h1 python3 -m http.server 80 &": "",
    "h2 wget -O - --tries 60 --retry-connrefused --waitretry 1 h1": "Directory listing for",
    "h1 kill %python3": "",
    "py 'hello ' + 'world'": "hello world",
    "py locals()": "'h1': <Host h1:",
    "py dir(s1)": "'dpctl'",
    "py h1.IP()": "10.0.0.1",
    "link s1 h1 down": "",
    "h1 ping -c 1 -W 1 h2": "0 received",
    "link s1 h1 up": "",
    "dpctl dump-flows": "actions=output:",
    "pingpair": "0% dropped (2/2 received)",
    "pingallfull": "h1->h2: 1/1, rtt min/avg/max/mdev",
    "ports": "s1-eth1:1",
    "noecho h1 echo $((6 * 7))": "42",
    "time sh true": "*** Elapsed time: ",
}


def test_each_line_at_the_prompt_does_what_it_should():
    marks = [f"sh echo after-{number}" for number in range(len(INTERACT))]
    script = "".join(f"{line}\n{mark}\n" for line, mark in zip(INTERACT, marks, strict=True))

    done = mn(script=script)

    assert done.returncode == 0, done.stdout
    parts = re.split(r"after-\d+", done.stdout)
    for (line, expected), part in zip(INTERACT.items(), parts[:-1], strict=True):
        assert expected in part, f"{line}: {part}"
