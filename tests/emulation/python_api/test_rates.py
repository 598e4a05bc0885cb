"""Rates of a network from Python, in virtual time."""

import pytest

import flightpath

pytestmark = pytest.mark.virtual


def test_mptcp_uses_all_paths():
    with flightpath.Network("multipath_pair", paths=2, links="bw=10 delay=2ms") as net:
        alone, both = (net.iperf("h1", "h2", mptcp=mptcp).metrics["goodput"].value for mptcp in (False, True))
    assert alone < 10e6 < both
