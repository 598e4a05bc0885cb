"""The kernel's counters in each host: TCP's and MPTCP's timeouts, retransmissions and fallbacks, and what arrived."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from flightpath.errors import MeasurementFailed
from flightpath.tcp_info import counters

_FILES, _GROUPS = ("snmp", "netstat"), ("Tcp", "TcpExt", "MPTcpExt")
_IP_BYTES = {4: 20, 6: 40}


class _Node(Protocol):
    """A host whose network namespace its process `pid` is in."""

    name: str
    pid: int


def snapshot(hosts: Iterable[_Node]) -> dict[str, dict[str, int]]:
    """Returns the counters of each host, by group and name: `TcpExt.TCPTimeouts`."""
    return {host.name: of_process(host.pid, _GROUPS) for host in hosts}


def increases(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Returns the counters that have changed, and by how much."""
    return {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}


def of_process(pid: int, groups: Collection[str] = ()) -> dict[str, int]:
    """Returns the counters in a process's network namespace, by group and name; by default those of all groups.

    Raises:
        MeasurementFailed: the process has ended.
    """
    files = sorted({"netstat" if group.endswith("Ext") else "snmp" for group in groups}) or _FILES
    text = "".join(_read(pid, file) for file in files)
    wanted = groups or dict.fromkeys(line.partition(":")[0] for line in text.splitlines())
    return {f"{group}.{name}": count for group in wanted for name, count in counters(text, group).items()}


def arrived_payload(pid: int, family: int, header_bytes: int) -> int:
    """Returns the bytes of payload that have come into a process's network namespace, whether read or held back.

    Args:
        pid: the process.
        family: the IP version; the other one does not count.
        header_bytes: length of TCP's header with its options. A GSO packet has one for all its segments.

    Raises:
        MeasurementFailed: the process has ended.
    """
    if family == 4:
        counts = of_process(pid, ("Ip", "IpExt"))
        octets, packets = counts["IpExt.InOctets"], counts["Ip.InReceives"]
    else:
        of_ipv6 = dict(line.split() for line in _read(pid, "snmp6").splitlines())
        octets, packets = int(of_ipv6["Ip6InOctets"]), int(of_ipv6["Ip6InReceives"])
    return octets - packets * (_IP_BYTES[family] + header_bytes)


def _read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/net/{file}").read_text(encoding="ascii")
    except OSError as error:
        raise MeasurementFailed(f"a host's counters cannot be read: its process {pid} has ended") from error
