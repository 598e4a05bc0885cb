"""MPTCP's packet schedulers: which names are accepted, and which kernel has them."""

import pytest

from execution.uml import kernel
from flightpath.errors import MissingCapability, UsageError
from scenarios.transport_league import TransportLeague
from tests.support.plans import plan_of
from topologies.hosts import mptcp_schedulers
from topologies.hosts.mptcp_schedulers import DEFAULT, RESEARCH
from topologies.multipath_pair import MultipathPair

LEAGUE = TransportLeague()


@pytest.fixture
def available(tmp_path, monkeypatch):
    """The schedulers of a kernel, one that this machine need not have."""
    file = tmp_path / "available_schedulers"
    monkeypatch.setattr(mptcp_schedulers, "_AVAILABLE", file)
    return file


def test_the_names_are_those_that_the_kernel_s_source_registers():
    source = (kernel.SCHEDULERS / "schedulers.c").read_text()
    assert [line.split('"')[1] for line in source.splitlines() if line.startswith("\tSCHEDULER(")] == list(RESEARCH)


def test_an_unknown_scheduler_is_refused_with_all_that_can_be_had(available):
    available.write_text("default burst\n")
    for name in (DEFAULT, *RESEARCH, "burst"):
        mptcp_schedulers.check("--scheduler", name)
    with pytest.raises(UsageError, match=r"'blest'\? known: blest, burst, default, ecf, redundant, roundrobin"):
        mptcp_schedulers.check("--scheduler", "blast")
    with pytest.raises(UsageError, match="'blast' is unknown"):
        MultipathPair(scheduler="blast")


def test_a_kernel_without_a_scheduler_says_where_there_is_one(available):
    available.write_text("default\n")
    with pytest.raises(MissingCapability, match=r"no MPTCP scheduler 'ecf'\n.*--clock virtual"):
        mptcp_schedulers.require([DEFAULT, "ecf"])
    available.write_text("default blest ecf\n")
    mptcp_schedulers.require([DEFAULT, "ecf"])
    available.unlink()
    with pytest.raises(MissingCapability):
        mptcp_schedulers.require(["ecf"])


def test_a_cell_with_linux_s_own_scheduler_reads_and_sets_nothing(available):
    available.mkdir()  # whoever reads it fails
    mptcp_schedulers.require([DEFAULT])
    mptcp_schedulers.check("--scheduler", "ecf")
    default, ecf = (MultipathPair(mptcp=True, scheduler=name) for name in (DEFAULT, "ecf"))
    settings = [topology.nodeInfo("h2")["sysctls"] for topology in (default, ecf)]
    assert settings[1] == {**settings[0], "net.mptcp.scheduler": "ecf"}


def test_the_league_has_a_transport_for_each_scheduler_of_mptcp_and_its_usual_plan_has_none():
    plan = plan_of(LEAGUE, "--transports", "tcp,mptcp", "--scheduler", "default,ecf")
    assert plan.axes["transport"] == ("tcp", "mptcp", "mptcp ecf")
    usual = plan_of(LEAGUE)
    assert "mptcp" in usual.axes["transport"] and "scheduler" not in {**usual.axes, **usual.settings}
    by_transport = {cell.parameters["transport"]: cell for cell in plan.cells()}
    hosts = {name: LEAGUE.topology(cell, plan).nodeInfo("h2") for name, cell in by_transport.items()}
    schedulers = {name: host["sysctls"].get("net.mptcp.scheduler") for name, host in hosts.items()}
    assert schedulers == {"tcp": None, "mptcp": None, "mptcp ecf": "ecf"}
    assert hosts["mptcp ecf"]["subflows"] == 1 and hosts["tcp"]["subflows"] == 0


def test_the_league_refuses_what_makes_no_sense():
    with pytest.raises(UsageError, match="--scheduler: 'blast' is unknown"):
        plan_of(LEAGUE, "--scheduler", "blast")
    with pytest.raises(UsageError, match="no transport of the plan is mptcp"):
        plan_of(LEAGUE, "--transports", "tcp", "--scheduler", "ecf")
