"""Modules loaded before they are needed: on a slow machine most of the time that a network takes to start."""

import sys

import pytest

from flightpath.extensions import lazy_import
from tests.support.finished import finished


def loaded_by(code: str) -> set[str]:
    """Names of the modules that a new Python has loaded after the code."""
    tell = "import sys; print(*(name for name, it in sys.modules.items() if type(it).__name__ != '_LazyModule'))"
    return set(finished([sys.executable, "-c", f"{code}\n{tell}"], check=True).stdout.split())


OS_KEN = "import os; os.environ['EVENTLET_NO_GREENDNS'] = 'yes'; import os_ken.controller.ofp_handler"
FORWARDING = "import controllers.__main__, controllers.app"
STEERING = f"{FORWARDING}, controllers.steering_managers"
SCENARIOS = (
    "from execution import guest_side; from experiments import catalogue\n"
    "found = [*map(catalogue.find, catalogue.names())];"
    "assert len(found) > 10 and all(found)"
)


def test_a_controller_that_only_forwards_loads_os_ken_and_of_its_own_only_forwarding():
    added = loaded_by(FORWARDING) - loaded_by(OS_KEN)
    libraries = {name.partition(".")[0] for name in added} - sys.stdlib_module_names - {"controllers", "flightpath"}
    assert libraries == set(), f"{libraries} are loaded, and the start of each network waits for them"
    packages = {name.split(".")[1] for name in added if name.startswith("controllers.")}
    assert packages <= {"__main__", "addresses", "app", "forwarding", "network", "openflow", "output", "parent_death"}


def test_a_module_that_is_not_installed_is_missed_at_once_and_one_that_is_loaded_is_taken_as_it_is():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        lazy_import("no_such_module")
    assert lazy_import("sys") is sys


@pytest.mark.parametrize(
    ("code", "needed", "heavy"),
    [
        (STEERING, "controllers.subflows.flows", "networkx pydantic matplotlib rich"),
        ("import execution.guest_side", "execution.executor", "numpy matplotlib scipy sqlalchemy pandas jinja2"),
        (SCENARIOS, "scenarios.mptcp_load", "matplotlib scipy sqlalchemy pandas jinja2"),
        ("import probes.preflight.commands.measure", "probes.preflight.spec", "sqlalchemy matplotlib numpy"),
        ("import flightpath.units", "flightpath.units", "python_api pandas results mininet matplotlib"),
    ],
    ids=["steering", "what measures a cell in a guest", "a cell", "a preflight that is not stored", "the ground floor"],
)
def test_what_starts_often_loads_nothing_that_only_others_need(code, needed, heavy):
    loaded = loaded_by(code)
    assert needed in loaded
    assert loaded.isdisjoint(heavy.split()), "loaded, and each start waits for it"
