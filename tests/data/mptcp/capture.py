"""Makes the captures in this folder anew, from the kernel of this machine: python -m tests.data.mptcp.capture

Two hosts with two links between them; a client sends some bytes, waits until the kernel has opened all subflows, sends
some more and closes. `NAME.pcap` has the frames of both links in the order of their times, `NAME.HOST.ss.txt` what
`ss -tniM` said of the connection while it was open. It needs tcpdump, and root or a user who may make namespaces.

    ipv4, ipv6  MPTCP: the client joins from its second address as a backup; the server offers its second address, and
                a third one with a port of its own
    one_path    MPTCP without further addresses, with checksums: the first data carries the keys again
    fallback    the client asks for MPTCP, the server does not speak it
    tcp         neither does
"""

import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from topologies.sandbox import sandbox

FOLDER = Path(__file__).parent
PORT, PORT_OFFERED = 5000, 9000
ADDRESSES = {4: "10.0.{}.{}", 6: "fd00:{}::{}"}
PREFIXES = {4: (24, "10.0.0.0/16"), 6: (64, "fd00::/16")}


def main() -> int:
    """Every capture, each in new namespaces."""
    for name, version, client, server, subflows in (
        ("ipv4", 4, "mptcp", "mptcp", 4),
        ("ipv6", 6, "mptcp", "mptcp", 4),
        ("one_path", 4, "mptcp", "mptcp", 1),
        ("fallback", 4, "mptcp", "tcp", 1),
        ("tcp", 4, "tcp", "tcp", 1),
    ):
        make_hosts(version)
        if name == "one_path":
            inside("client", "sysctl", "-qw", "net.mptcp.checksum_enabled=1")
        elif subflows > 1:
            add_endpoints(version)
        capture(name, version, client, server, subflows)
        for host in ("client", "server"):
            run("ip", "netns", "del", host)
    return 0


def make_hosts(version: int) -> None:
    """Two namespaces, two cables, addresses, and on the client a routing table for each of them."""
    bits, everything = PREFIXES[version]
    for host in ("client", "server"):
        run("ip", "netns", "add", host)
        inside(host, "ip", "link", "set", "lo", "up")
        if version == 6:  # beside timestamps there is no room for an address with a port
            inside(host, "sysctl", "-qw", "net.ipv4.tcp_timestamps=0")
        inside(host, "ip", "mptcp", "limits", "set", "subflow", "4", "add_addr_accepted", "4")
    for link in ("eth1", "eth2"):
        run("ip", "link", "add", link, "netns", "client", "type", "veth", "peer", link, "netns", "server")
    for number, host in enumerate(("client", "server"), start=1):
        for network, link in ((1, "eth1"), (2, "eth2"), (3, "eth2")):
            address = ADDRESSES[version].format(network, number)
            nodad = ["nodad"] if version == 6 else []
            inside(host, "ip", "address", "add", f"{address}/{bits}", "dev", link, *nodad)
            inside(host, "ip", "link", "set", link, "address", f"02:00:00:00:0{number}:0{link[-1]}", "up")
            if host == "client":  # each address leaves by its own link, whatever the destination
                route = [everything, "via", ADDRESSES[version].format(network, 2), "table", str(network)]
                inside(host, "ip", f"-{version}", "rule", "add", "from", address, "table", str(network))
                inside(host, "ip", f"-{version}", "route", "add", *route)


def add_endpoints(version: int) -> None:
    """What MPTCP may use besides the connection's own addresses."""
    second, offered, with_port = (ADDRESSES[version].format(*where) for where in ((2, 1), (2, 2), (3, 2)))
    inside("client", "ip", "mptcp", "endpoint", "add", second, "dev", "eth2", "subflow", "backup")
    inside("server", "ip", "mptcp", "endpoint", "add", offered, "dev", "eth2", "signal")
    port = ["port", str(PORT_OFFERED)]
    inside("server", "ip", "mptcp", "endpoint", "add", with_port, "dev", "eth2", "signal", *port)


def capture(name: str, version: int, client: str, server: str, subflows: int) -> None:
    """One connection with its frames and what the kernel says of it."""
    target = ADDRESSES[version].format(1, 2)
    with ExitStack() as stack:
        dumps = {link: stack.enter_context(Dump(link)) for link in ("eth1", "eth2")}
        serving = stack.enter_context(child("server", "serve", server, target))
        serving.stdout.readline()
        asking = stack.enter_context(child("client", "ask", client, target))
        wait_for(lambda: len(established()) == subflows)
        said = {host: inside(host, "ss", "-tniM") for host in ("client", "server")}
        asking.stdin.close()
        assert asking.wait(10) == serving.wait(10) == 0
    records = sorted(record for dump in dumps.values() for record in dump.records)
    write_pcap(FOLDER / f"{name}.pcap", records)
    for host, text in said.items():
        (FOLDER / f"{name}.{host}.ss.txt").write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    print(f"{name}: {len(records)} frames")


class Dump:
    """tcpdump on one link of the client, until it has the last of what was sent."""

    def __init__(self, link: str) -> None:
        self._path = Path(f"/tmp/{link}.pcap")
        self._path.unlink(missing_ok=True)
        command = ["tcpdump", "-i", link, "-U", "--immediate-mode", "-Z", "root", "-w", str(self._path), "tcp"]
        self._process = subprocess.Popen(["ip", "netns", "exec", "client", *command], stderr=subprocess.PIPE)
        while b"listening" not in self._process.stderr.readline():
            assert self._process.poll() is None
        self.records: list[tuple[float, bytes]] = []

    def __enter__(self) -> "Dump":
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.5)  # the last acknowledgements: nothing tells that there are no more
        self._process.terminate()
        self._process.wait()
        self.records = list(read_pcap(self._path))


def serve(protocol: str, address: str) -> None:
    """Takes one connection and everything it sends."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, number_of(protocol)) as listening:
        listening.bind(("", PORT))  # subflows come to every address
        listening.listen()
        print("listening", flush=True)
        connection, _ = listening.accept()
        with connection:
            while content := connection.recv(65536):
                connection.sendall(content)


def ask(protocol: str, address: str) -> None:
    """Sends some bytes; when its own input ends, some more, and closes."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, number_of(protocol)) as connection:
        connection.connect((address, PORT))
        for _ in range(2):
            connection.sendall(bytes(100))
            connection.recv(100)
            sys.stdin.read()


def number_of(protocol: str) -> int:
    """As socket(2) wants it."""
    return {"tcp": socket.IPPROTO_TCP, "mptcp": 262}[protocol]


def child(host: str, *arguments: str) -> subprocess.Popen[str]:
    """This program with another task, in a host."""
    command = [sys.executable, "-m", "tests.data.mptcp.capture", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(["ip", "netns", "exec", host, *command], stdin=pipe, stdout=pipe, text=True)


def established() -> list[str]:
    """The client's subflows, or its TCP connection."""
    return inside("client", "ss", "-tnH", "state", "established").splitlines()


def wait_for(condition: object) -> None:
    """Until it is so; ten seconds at most."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, inside("client", "ss", "-tniM")
        time.sleep(0.05)


def inside(host: str, *argv: str) -> str:
    """A command in a host."""
    return run("ip", "netns", "exec", host, *argv)


def run(*argv: str) -> str:
    """A command."""
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    from tests.support.captures import read_pcap, write_pcap

    match sys.argv[1:]:
        case ["serve", protocol, address]:
            serve(protocol, address)
        case ["ask", protocol, address]:
            ask(protocol, address)
        case _:
            sys.exit(sandbox.run_inside(main))
