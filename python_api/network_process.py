"""The process of a `flightpath.Network`: `python -m python_api.network_process SOCKET`.

SOCKET is the number of an open socket, over which the network's user calls. When the user's process ends, however it
ends, the socket's far end is closed: then this process ends too, and the network with it. In a guest, which ends with
the user's process by itself, SOCKET is `-`: calls come through the shared folder.
"""

import os
import select
import signal
import sys
import tempfile
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import congestion
from flightpath.calls import SHARED
from flightpath.errors import FlightpathError
from python_api.channels import HostChannel
from python_api.connection import STOP, Answer, Call, Setup
from python_api.served import ServedNetwork
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed


def main(words: list[str]) -> int:
    """Serves calls until the last one, or until the user's process has ended."""
    connection = HostChannel(Path(os.environ[SHARED])) if words[0] == "-" else _connection(int(words[0]))
    try:
        setup: Setup = connection.recv()
    except EOFError:
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the user's process, which then ends this one
    try:
        hosts = map(setup.topology.nodeInfo, setup.topology.hosts())
        for algorithm in {host["congestion_control"] for host in hosts} - {None}:
            congestion.ensure(algorithm)
        keep = [congestion.RECORDS, *map(Path, filter(None, [os.environ.get(SHARED)]))]
        return sandbox.run_inside(lambda: _serve(connection, setup), keep=keep)
    except FlightpathError as error:
        connection.send(Answer.failed(error))
        return error.exit_code


def _connection(socket: int) -> Connection:
    os.set_inheritable(socket, False)
    return Connection(socket)


def _serve(connection: Connection | HostChannel, setup: Setup) -> int:
    if isinstance(connection, Connection):
        threading.Thread(target=_end_with_user, args=(connection.fileno(),), daemon=True).start()
    try:
        with Testbed(setup.topology, emulator=setup.emulator, datapath=setup.datapath, policy=setup.policy) as testbed:
            network = ServedNetwork(testbed, Path(tempfile.gettempdir()))
            connection.send(Answer(network.addresses()))
            try:
                while (call := connection.recv()).name != STOP:
                    connection.send(_answer(network, call))
            finally:
                network.close()
    except Exception as error:
        connection.send(Answer.failed(error))
        return 1
    connection.send(Answer())
    return 0


def _answer(network: ServedNetwork, call: Call) -> Answer:
    try:
        return Answer(getattr(network, call.name)(**call.arguments))
    except Exception as error:
        return Answer.failed(error)


def _end_with_user(socket: int) -> None:
    """Ends this process, and so all of the network, when the far end of the socket is closed."""
    poll = select.poll()
    poll.register(socket, select.POLLRDHUP)
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
