"""The file of a recording, as numpy arrays (its format: native/recorder/record_file.h)."""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flightpath.errors import UsageError
from results.recording.blocks import COMPRESSED, HEADER, LENGTH, ROW_BYTES, Block

Columns = Mapping[str, NDArray[Any]]

_ECN_SHIFT = 14

_ENTRY_COLUMNS = {
    "time": "u4",
    "identity": "u4",
    "seq": "u4",
    "ack": "u4",
    "point": "u2",
    "flow": "u2",
    "payload": "u2",
    "window": "u2",
    "id": "u2",
    "headers": "u1",
    "flags": "u1",
    "ecn": "u1",
}
_ARRIVAL_COLUMNS = {"time": "u4", "identity": "u4", "point": "u2"}

SOCKET_ROW = np.dtype(
    [
        ("time_ns", "i8"),
        ("pacing_rate", "u8"),
        *((name, "u4") for name in ("cwnd", "ssthresh", "rtt_us", "rttvar_us", "unacked", "sacked", "lost")),
        *((name, "u4") for name in ("retransmitted", "total_retransmitted", "mss")),
        ("flow", "u2"),
        *((name, "u1") for name in ("state", "congestion_state", "backoff")),
        ("padding", "V3"),
    ]
)
FLOW_ROW = np.dtype(
    [
        *((name, "V16") for name in ("source", "target")),
        *((name, "u2") for name in ("source_port", "target_port")),
        *((name, "u1") for name in ("family", "protocol")),
        ("ethertype", "u2"),
        ("mptcp_value", "V8"),
        ("flow", "u2"),
        *((name, "u1") for name in ("mptcp", "window_scale")),
        ("padding", "V4"),
    ]
)


@dataclass(frozen=True)
class Recording:
    """A recording as it was written; times are nanoseconds since 1970 on the clock of the cell.

    Attributes:
        entries: columns of packets that came to the queue of a link, in the order of `time`.
        arrivals: columns of packets that left a link at its other end, in the order of `time`.
        sockets: states of connections (SOCKET_ROW).
        flows: one direction of a connection each (FLOW_ROW).
        description: the network, and when the recording began and ended.
    """

    entries: Columns
    arrivals: Columns
    sockets: NDArray[Any]
    flows: NDArray[Any]
    description: Mapping[str, Any]

    @property
    def duration_s(self) -> float:
        """Time from its beginning to its end."""
        return float(self.description["ended_ns"] - self.description["began_ns"]) / 1e9


def read(path: Path) -> Recording:
    """Reads a recording.

    Raises:
        UsageError: there is no such file, or it is not a recording.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the recording {path}: {error.strerror or error}") from error
    try:
        return _parse(data)
    except (ValueError, KeyError, struct.error, zlib.error) as error:
        raise UsageError(
            f"{path} is no recording of this version: {error}", "measure it again with --record"
        ) from error


def _parse(data: bytes) -> Recording:
    entries: list[dict[str, NDArray[Any]]] = []
    arrivals: list[dict[str, NDArray[Any]]] = []
    rows: dict[int, list[NDArray[Any]]] = {Block.SOCKETS: [], Block.FLOWS: []}
    description: Mapping[str, Any] | None = None
    for kind, count, base, body in _blocks(data):
        match kind:
            case Block.ENTRIES:
                entries.append(_columns(body, count, base, _ENTRY_COLUMNS))
            case Block.ARRIVALS:
                arrivals.append(_columns(body, count, base, _ARRIVAL_COLUMNS))
            case Block.SOCKETS | Block.FLOWS:
                rows[kind].append(np.frombuffer(body, SOCKET_ROW if kind == Block.SOCKETS else FLOW_ROW))
            case _:
                description = json.loads(bytes(body))
    if description is None:
        raise ValueError("its end is missing")
    arrived = _joined(arrivals, _ARRIVAL_COLUMNS)
    arrived["ecn"] = (arrived["point"] >> _ECN_SHIFT).astype("u1")
    arrived["point"] &= (1 << _ECN_SHIFT) - 1
    sockets = np.concatenate([np.empty(0, SOCKET_ROW), *rows[Block.SOCKETS]])
    flows = np.concatenate([np.empty(0, FLOW_ROW), *rows[Block.FLOWS]])[::-1]
    flows = flows[np.unique(flows["flow"], return_index=True)[1]]  # the last row of each
    return Recording(_joined(entries, _ENTRY_COLUMNS), arrived, sockets, flows, description)


def _blocks(data: bytes) -> Iterator[tuple[int, int, int, memoryview]]:
    view, at = memoryview(data), 0
    while at < len(data):
        kind, count, base = HEADER.unpack_from(data, at)
        is_compressed, kind, at = bool(kind & COMPRESSED), kind & ~COMPRESSED, at + HEADER.size
        if kind not in ROW_BYTES:
            raise ValueError(f"a block of the unknown kind {kind}")
        size = stored = ROW_BYTES[kind] * count
        if is_compressed:
            (stored,), at = LENGTH.unpack_from(data, at), at + LENGTH.size
        if at + stored > len(data):
            raise ValueError("its end is missing")
        body = view[at : at + stored]
        yield kind, count, base, _decompressed(body, size) if is_compressed else body
        at += stored


def _decompressed(body: memoryview, size: int) -> memoryview:
    rows = zlib.decompressobj().decompress(body, size + 1)
    if len(rows) != size:
        raise ValueError("a block has not the rows that it should have")
    return memoryview(rows)


def _columns(body: memoryview, count: int, base: int, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {}
    at = 0
    for name, kind in kinds.items():
        columns[name] = np.frombuffer(body, kind, count, at)
        at += columns[name].nbytes
    columns["time"] = columns["time"].astype("i8") + base
    return columns


def _joined(blocks: list[dict[str, NDArray[Any]]], kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    if not blocks:
        return {name: np.empty(0, "i8" if name == "time" else kind) for name, kind in kinds.items()}
    joined = {name: np.concatenate([block[name] for block in blocks]) for name in kinds}
    order = np.argsort(joined["time"], kind="stable")
    return {name: column[order] for name, column in joined.items()}
