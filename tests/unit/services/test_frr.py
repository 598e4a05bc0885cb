"""FRRouting: what is refused, and how it says what is missing."""

import pytest

from experiments import catalogue
from flightpath.errors import MissingCapability, UsageError
from services.frr import package
from services.frr.package import Frr
from tests.support.plans import plan_of


def test_without_frrouting_an_error_names_the_command_that_gets_it(tmp_path, monkeypatch):
    monkeypatch.setattr(package, "home", lambda: tmp_path)
    monkeypatch.setattr(package, "_DAEMONS", "usr/lib/no-frr")
    with pytest.raises(MissingCapability, match="FRRouting is not here\n  make frr"):
        Frr.find()


def test_a_daemon_that_its_package_lacks_is_named(tmp_path):
    with pytest.raises(MissingCapability, match="FRRouting has no pimd in "):
        Frr(tmp_path).daemon("pimd")


def test_a_protocol_that_is_not_supported_is_refused_with_those_that_are():
    with pytest.raises(UsageError, match=r"(?s)'rip'.*ospf") as refused:
        plan_of(catalogue.get("routing_convergence"), "--routing", "rip")
    assert "\n" not in str(refused.value.args[0])
