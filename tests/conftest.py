"""Fixtures that several folders of tests use.

Each virtual-time kernel loads this file anew, so what few tests need is imported where it is used.
"""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flightpath.clock import Clock, clock_here
from flightpath.errors import FlightpathError
from tests.support.running import times, virtual_tests
from topologies.links.emulators import EMULATORS, choose_emulator
from topologies.sandbox import sandbox
from topologies.testbed.openvswitch import has_kernel_datapath

if TYPE_CHECKING:
    from results.store.location import StoreLocation
    from tests.support.database_server import DatabaseServer

# Mininet makes each new logger of the process print to what stderr is at that moment. So what a library logs would be
# part of what one command says to one test: the first in its process that comes to use the library.
logging.setLoggerClass(logging.Logger)

# Virtual-time kernels find each test compiled, whether or not PYTHONDONTWRITEBYTECODE is set here.
sys.dont_write_bytecode = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--virtual-seed", type=int, default=1, metavar="N", help="seed of tests in virtual time (default 1)"
    )
    parser.addoption("--here", action="store_true", help="run tests in virtual time on this kernel, as in a VM")
    parser.addoption("--times", metavar="NAME", help="keep how long each test took, for `make test-times`")


def pytest_configure(config: pytest.Config) -> None:
    """Registers what runs tests in virtual time, gives them to workers, and measures how long they take."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; programs would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not config.getoption("here"):
        config.pluginmanager.register(virtual_tests.plugin(config))
    if config.getoption("times"):
        config.pluginmanager.register(times.ProcessorTime())
    if hasattr(config, "workerinput"):
        return
    if config.pluginmanager.has_plugin("xdist"):
        from tests.support.running import scheduling

        config.pluginmanager.register(scheduling)
    if name := config.getoption("times"):
        config.pluginmanager.register(times.Keeper(name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts tests; in the virtual-time kernel they stay in the order in which the host asks for them."""
    if clock_here() is Clock.REAL:
        from tests.support.running import scheduling

        for item in items:
            if item.get_closest_marker(scheduling.STARTS_KERNELS) and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(600))  # they compute, on a machine with other work
        scheduling.sort(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what starts virtual-time kernels where there is none."""
    if item.get_closest_marker("starts_kernels"):
        from tests.support.uml import require_uml_kernel

        require_uml_kernel()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test marked `in_sandbox` in a new sandbox; its fixtures are made outside."""
    if pyfuncitem.get_closest_marker("in_sandbox") is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    run_in_sandbox(lambda: pyfuncitem.obj(**arguments))
    return True


def run_in_sandbox(body: Callable[[], object]) -> None:
    """Runs a function in a new sandbox; an exception in it is printed and fails the test."""

    def main() -> int:
        body()
        return 0

    assert sandbox.run_inside(main) == 0, "failed in the sandbox: see its traceback above"


@pytest.fixture
def sandboxed() -> Callable[[Callable[[], object]], None]:
    """Runner of a part of a test in a new sandbox."""
    return run_in_sandbox


@pytest.fixture(params=[name for name in EMULATORS if name != "auto"], scope="session")
def emulator(request: pytest.FixtureRequest) -> str:
    """Each link emulator; tests are skipped for those that do not work on this machine."""
    try:
        return choose_emulator(request.param)
    except FlightpathError as error:
        pytest.skip(f"{request.param}: {str(error).splitlines()[0]}")


@pytest.fixture(scope="session")
def server() -> "Iterator[DatabaseServer]":
    """A PostgreSQL server for the tests."""
    from tests.support.database_server import database_server

    with database_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def new_location(request: pytest.FixtureRequest, tmp_path: Path) -> "Callable[[str], StoreLocation]":
    """Makes a location by name; all of one test are on the same kind of database, and each kind has its turn."""
    from results.store.location import StoreLocation, server_url

    def made(name: str) -> "StoreLocation":
        database = request.getfixturevalue("server").database() if request.param == "postgresql" else None
        return StoreLocation(tmp_path / name, server_url(str(database)) if database else None)

    return made


@pytest.fixture
def location(new_location: "Callable[[str], StoreLocation]") -> "StoreLocation":
    """Folder of the test's store."""
    return new_location("runs")


@pytest.fixture(scope="module")
def needs_kernel_datapath() -> None:
    """Skips tests if the kernel has no datapath for Open vSwitch; `make test-vm` runs them in a VM."""
    if sandbox.run_inside(lambda: 0 if has_kernel_datapath() else 1) != 0:
        pytest.skip("this kernel has no openvswitch datapath")


@pytest.fixture(scope="module")
def real_time_priority() -> Iterator[None]:
    """Runs a module's tests, and what they start, before every ordinary process of this machine: SCHED_RR, sched(7)."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):  # without root, or in a container that forbids it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    yield
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, policy, parameters)
