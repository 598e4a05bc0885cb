"""A student's OpenFlow controller in place of the network's own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from labs.framework import programs
from labs.framework.lab import Work
from labs.framework.network import Trial

_ADDRESS = "127.0.0.1:6654"
_START_LIMIT_S, _SETTLE_S = 30.0, 1.0


@contextmanager
def controlled_by(network: Trial, work: Work, file: str) -> Iterator[None]:
    """Hands all switches to an os-ken application, in a network that knows nothing yet; it ends with the block.

    The rules that it has made stay: switches forward by them without a controller (fail mode secure).
    """
    switches = [switch.name for switch in network.testbed.net.switches]
    for name in switches:
        run(["ovs-vsctl", "del-controller", name])
        run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", name])
    for host in network.testbed.net.hosts:
        host.run(["ip", "neighbour", "flush", "all"])
    program = [programs.python(), "-P", "-m", "controllers.applications"]
    argv = [*program, "--listen", _ADDRESS, "--folder", str(work.folder), file]
    with programs.running(argv, work.folder, name=file) as application:
        host, port = _ADDRESS.split(":")
        listeners = ["ss", "-H", "-tln", f"src {host} and sport = :{port}"]
        wait_until(lambda: bool(run(listeners).strip()), f"{file} to start", _START_LIMIT_S, check=application.check)
        for name in switches:
            run(["ovs-vsctl", "set-controller", name, f"tcp:{_ADDRESS}"])
        for name in switches:
            connected = partial(_is_connected, name)
            wait_until(connected, f"{name} to be connected to {file}", _START_LIMIT_S, check=application.check)
        time.sleep(_SETTLE_S)  # for the rules that it installs when switches connect
        yield
        application.check()
        if "Traceback (most recent call last)" in application.output:
            raise MeasurementFailed(f"{file} fails: {application.output.strip()[-programs.SHOWN :]}")


def _is_connected(switch: str) -> bool:
    return run(["ovs-vsctl", "get", "controller", switch, "is_connected"]).strip() == "true"
