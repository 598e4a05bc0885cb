"""The page of `flightpath watch`: packets that move, as one HTML file that needs no other file and no network."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from flightpath.units import counted
from results.figures.chart import in_script
from results.figures.network import live_network
from results.pages import templating
from results.recording.events import EVENT, KINDS, LINK_CHANGE, events, first_sequence_numbers, retransmissions
from results.recording.file import Recording
from results.recording.journeys import ARRIVED, FATES, UNDER_WAY, Direction, Flow, Journeys, journeys
from results.recording.senders import CONGESTION_STATES, in_flight, pacing_bps

MAX_PACKETS = 1_000_000
"""Maximum number of packets on a page: more would open slowly."""

_SCRIPTS = ("watch_data.js", "watch_network.js", "watch_lanes.js", "watch.js")
_NEVER = 0xFFFFFFFF
_COLOURED = 6


@dataclass(frozen=True)
class WatchedCell:
    """A recorded cell to be shown; all times count from the beginning of the recording.

    Attributes:
        start_s, end_s: what is shown of it.
        changes: changes of links, as a cut, in the order of time: when, and what it was.
    """

    run: str
    scenario: str
    label: str
    recording: Recording
    start_s: float = 0.0
    end_s: float = float("inf")
    changes: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class _Drawn:
    name: str
    interfaces: str
    rate_bps: Sequence[float] = (0.0, 0.0)
    limit_bps: Sequence[float | None] = (None, None)


def render_watch(cells: Sequence[WatchedCell]) -> str:
    """Returns the page for one cell, or for several on the same clock."""
    packed = [_packed(cell) for cell in cells]
    return templating.file(
        "watch.html",
        style="watch.css",
        scripts=_SCRIPTS,
        cells=cells,
        summaries=[summary for _, _, summary in packed],
        facts=[Markup(in_script(facts)) for facts, _, _ in packed],
        columns=[data for _, data, _ in packed],
    )


def _packed(cell: WatchedCell) -> tuple[Mapping[str, Any], str, str]:
    """Returns a cell's facts, its columns as base64, and a summary in words."""
    found, description = journeys(cell.recording), cell.recording.description
    began = int(description["began_ns"])
    hosts = set(description["hosts"])
    sources = np.array([each.source in hosts for each in found.directions])
    from_host = sources[found.packets["point"]]
    again = retransmissions(found, from_host)
    all_events = _with_changes(events(found, cell.recording.sockets, from_host, again), cell.changes, began)
    shown, is_cut = _shown(found, began, cell)
    packets = {name: column[shown] for name, column in found.packets.items()}
    first = first_sequence_numbers(found.packets, len(found.flows))
    until = int(packets["time"][-1]) if is_cut and len(packets["time"]) else int(description["ended_ns"])
    columns, facts = _packet_columns(packets, again[shown], found.flows, first, began)
    columns |= _socket_columns(cell.recording.sockets, began, until)
    number_on_page = np.cumsum(shown) - 1
    listed = all_events[(all_events["time_ns"] >= began) & (all_events["time_ns"] <= until)]
    listed = listed[(listed["packet"] < 0) | shown[listed["packet"]]]
    columns["eventTime"] = (listed["time_ns"] - began) / 1e6
    columns["eventKind"] = listed["kind"]
    columns["eventPacket"] = np.where(listed["packet"] >= 0, number_on_page[listed["packet"]], -1).astype("i4")
    columns["eventFlow"] = listed["flow"]
    directory, data = _blob(columns)
    total = (until - began) / 1e6
    facts |= {
        "title": f"{cell.scenario} {cell.label}",
        "run": cell.run,
        "duration": total,
        "columns": directory,
        "kinds": KINDS,
        "changes": [text for _, text in cell.changes],
        "fates": FATES,
        "states": CONGESTION_STATES,
        "flows": _flow_facts(found.flows, packets),
        "directions": [_direction(each) for each in found.directions],
        **_drawing(description),
    }
    return facts, data, _summary(found, packets, listed, total, is_cut=is_cut)


def _with_changes(listed: NDArray[Any], changes: Sequence[tuple[float, str]], began: int) -> NDArray[Any]:
    """Returns events with the changes of links among them; their `flow` is the number of the change."""
    rows = np.zeros(len(changes), EVENT)
    rows["time_ns"] = [began + round(time_s * 1e9) for time_s, _ in changes]
    rows["kind"], rows["packet"], rows["flow"] = LINK_CHANGE, -1, np.arange(len(changes))
    joined = np.concatenate([listed, rows])
    return joined[np.argsort(joined["time_ns"], kind="stable")]


def _shown(found: Journeys, began: int, cell: WatchedCell) -> tuple[NDArray[Any], bool]:
    """Returns which packets are on the page, and whether some of the wanted ones are not."""
    time = found.packets["time"] - began
    wanted = (time >= max(0.0, cell.start_s) * 1e9) & (time <= cell.end_s * 1e9)
    within = np.cumsum(wanted) <= MAX_PACKETS
    return wanted & within, bool((wanted & ~within).any() or cell.end_s * 1e9 < time[-1:].max(initial=0))


def _packet_columns(
    packets: Mapping[str, NDArray[Any]], again: NDArray[Any], flows: Sequence[Flow], first: NDArray[Any], began: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    gaps = np.diff(packets["time"], prepend=began)
    unit = max(1, -(-int(gaps.max(initial=1)) // 0xFFFFFFFF))
    flow = np.minimum(packets["flow"], len(flows))
    other = np.array([len(flows) if each.reverse is None else each.reverse for each in flows] + [len(flows)])
    starts = np.concatenate([first, np.zeros(1, "u4")])
    arrived, sent = packets["arrived"], packets["sent"]
    columns = {
        # The rounded gaps must add up to the rounded times.
        "gap": np.diff((packets["time"] - began) // unit, prepend=0).astype("u4"),
        "transit": np.where(arrived >= 0, np.minimum(arrived - packets["time"], _NEVER - 1), _NEVER).astype("u4"),
        "air": np.where(arrived >= 0, np.minimum(arrived - sent, _NEVER - 1), 0).astype("u4"),
        "point": packets["point"],
        "flow": flow.astype("u2"),
        "bytes": np.minimum(packets["bytes"], 0xFFFF).astype("u2"),
        "payload": packets["payload"],
        "seq": packets["seq"] - starts[flow],
        "ack": packets["ack"] - starts[other[flow]],
        "flags": packets["flags"],
        "ecn": packets["ecn"] | packets["arrived_ecn"] << 2,
        "fate": packets["fate"] | again.astype("u1") << 3,
        "identity": packets["identity"],
    }
    return columns, {"unit": unit}


def _socket_columns(sockets: NDArray[Any], began: int, until: int) -> dict[str, NDArray[Any]]:
    kept = sockets[sockets["time_ns"] <= until]
    kept = kept[np.lexsort((kept["time_ns"], kept["flow"]))]
    return {
        "socketTime": np.maximum(0, kept["time_ns"] - began) / 1e6,
        "socketFlow": kept["flow"],
        "cwnd": kept["cwnd"],
        "ssthresh": kept["ssthresh"],
        "rtt": kept["rtt_us"],
        "pacing": np.nan_to_num(pacing_bps(kept)),
        "inFlight": in_flight(kept).astype("u4"),
        "state": kept["congestion_state"],
    }


def _blob(columns: Mapping[str, NDArray[Any]]) -> tuple[list[Any], str]:
    """Returns names, types and lengths of columns, and the columns, compressed, as base64; the widest come first."""
    order = sorted(columns, key=lambda name: -columns[name].itemsize)
    directory = [[name, columns[name].dtype.str[1:], len(columns[name])] for name in order]
    data = b"".join(columns[name].tobytes() for name in order)
    return directory, base64.b64encode(zlib.compress(data, 6)).decode()


def _flow_facts(flows: Sequence[Flow], packets: Mapping[str, NDArray[Any]]) -> list[Mapping[str, Any]]:
    """Returns what the page says of each flow; `colour` is -1 for what carries no data of a user."""
    carried = np.bincount(np.minimum(packets["flow"], len(flows)), packets["payload"], len(flows) + 1)
    busy = [number for number, flow in enumerate(flows) if flow.protocol in ("TCP", "UDP") and carried[number] > 0]
    series = list(dict.fromkeys((flows[number].connection, flows[number].subflow) for number in busy))
    by_subflow = len(series) > _COLOURED
    colours = {each: each[1] % _COLOURED if by_subflow else number for number, each in enumerate(series)}
    return [
        {
            "name": flow.name,
            "reverse": flow.reverse,
            "connection": flow.connection,
            "subflow": flow.subflow,
            "mptcp": flow.is_mptcp,
            "colour": colours.get((flow.connection, flow.subflow), -1),
            "carried": int(carried[number]),
        }
        for number, flow in enumerate(flows)
    ]


def _direction(direction: Direction) -> Mapping[str, Any]:
    return {
        "name": f"{direction.source} → {direction.target}",
        "specification": direction.specification,
        "rate": direction.bandwidth_bps,
        "delay": direction.delay_ns / 1e6,
        "queue": direction.queue_bytes,
    }


def _drawing(description: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns nodes and links with their positions; each link's line begins at its end a."""
    links = [each["name"] for each in description["links"]]
    drawing = live_network([_Drawn(name, name) for name in links])
    if drawing is None:
        return {"nodes": [], "links": [], "size": [1, 1]}
    places = {node.name: (node.x, node.y) for node in drawing.nodes}
    hosts = set(description["hosts"])
    return {
        "nodes": [{"name": name, "x": x, "y": y, "host": name in hosts} for name, (x, y) in places.items()],
        "links": [
            {"name": link.name, "line": _line(link.line, places[link.ends[0]]), "bow": bow}
            for link, bow in zip(drawing.links, _bows([link.ends for link in drawing.links]), strict=True)
        ],
        "size": [drawing.width, drawing.height],
    }


def _bows(links: Sequence[tuple[str, str]]) -> list[float]:
    """Returns how much each link is bent aside, in units that lie around 0: links between the same nodes are apart."""
    pairs = [tuple(sorted(ends)) for ends in links]
    bows = []
    for number, (ends, pair) in enumerate(zip(links, pairs, strict=True)):
        place = pairs[:number].count(pair) - (pairs.count(pair) - 1) / 2
        bows.append(place if ends == pair else -place)
    return bows


def _line(path: str, start: tuple[float, float]) -> list[float]:
    x, y, mx, my, tx, ty = (float(each) for each in path[1:].replace("Q", " ").split())
    begins_here = abs(x - start[0]) + abs(y - start[1]) < 2
    return [x, y, mx, my, tx, ty] if begins_here else [tx, ty, mx, my, x, y]


def _summary(
    found: Journeys, packets: Mapping[str, NDArray[Any]], listed: NDArray[Any], total_ms: float, *, is_cut: bool
) -> str:
    """Returns in words what the page shows, also for readers who do not see it."""
    fates = packets["fate"]
    lost = int(((fates != ARRIVED) & (fates != UNDER_WAY)).sum())
    counts = np.bincount(listed["kind"], minlength=len(KINDS))
    several = ("connections", "joins", "losses", "retransmissions", "timeouts", "link changes")
    parts = [f"{count} {several[kind] if count > 1 else KINDS[kind]}" for kind, count in enumerate(counts) if count]
    carried = [flow for number, flow in enumerate(found.flows) if flow.protocol in ("TCP", "UDP")]
    connections = len({flow.connection for flow in carried})
    sentences = [
        f"{counted(len(fates), 'packet')} on {counted(len(found.directions) // 2, 'link')} in {total_ms / 1e3:.3g} s, "
        f"of {counted(connections, 'connection')}; {lost or 'none'} dropped.",
        f"Events: {', '.join(parts)}." if parts else "",
        "Only a part of the recording is shown: --from and --until choose another one." if is_cut else "",
    ]
    return " ".join(filter(None, sentences))
