"""Recordings: their files, journeys of packets across links, flows and events."""

import hashlib
import json
import struct
import subprocess
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest

from flightpath.cli import main
from flightpath.errors import UsageError
from python_api.frames import connections_frame
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.blocks import COMPRESSED, FOLDER, append_description, file_name
from results.recording.changes import link_changes
from results.recording.events import KINDS, events, retransmissions
from results.recording.file import _ENTRY_COLUMNS, FLOW_ROW, SOCKET_ROW, Recording, read
from results.recording.journeys import FATES, journeys
from results.recording.pcapng import write_pcapng
from results.records import Cell, CellResult, Certificate, Measurement, Verdict
from results.store.store import Store
from tests.support.stored_runs import begin, simple
from tests.support.watched_pages import shown

BASE = 1_700_000_000_000_000_000
MS = 1_000_000
DATA = {"seq": 1, "ack": 1, "payload": 1000, "headers": 66, "flags": 0x10, "id": 1, "window": 9, "ecn": 0, "flow": 0}
KEY = b"client's"
WAY = {"specification": "1Mbit", "bandwidth_bps": 1_000_000, "delay_ns": MS, "queue_bytes": 4000, "lossy": True}
LINK = {"name": "h1-eth0:h2-eth0", "nodes": ["h1", "h2"], "directions": [WAY, {**WAY, "lossy": False}]}
DESCRIPTION = {"hosts": ["h1", "h2"], "switches": [], "links": [LINK], "began_ns": BASE, "ended_ns": BASE + 2000 * MS}


def flow(number: int, source: str, target: str, mptcp: int = 0, value: bytes = bytes(8)) -> np.ndarray:
    row = np.zeros(1, FLOW_ROW)
    for side, text in (("source", source), ("target", target)):
        address, _, port = text.rpartition(":")
        row[side] = np.frombuffer(ip_address(address).packed.ljust(16, b"\0"), "V16")
        row[f"{side}_port"] = int(port)
    row["family"], row["protocol"], row["flow"], row["mptcp"] = ip_address(address).version, 6, number, mptcp
    row["mptcp_value"] = np.frombuffer(value, "V8")
    return row


def recording(sent: list[dict], arrived: list[tuple[int, int, int]], flows=None, sockets=()) -> Recording:
    """Packets with their times in ms, and arrivals as time in ms, point and identity."""
    rows = [{"point": 0, **DATA, **each, "time": BASE + round(each["time"] * MS)} for each in sent]
    kinds = {**_ENTRY_COLUMNS, "time": "i8"}
    entries = {name: np.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    left = [(BASE + round(time * MS), point, identity, 0) for time, point, identity in arrived]
    arrivals = np.array(left, [("time", "i8"), ("point", "u2"), ("identity", "u4"), ("ecn", "u1")])
    known = [flow(0, "10.0.0.1:1", "10.0.0.2:2"), flow(1, "10.0.0.2:2", "10.0.0.1:1")] if flows is None else flows
    return Recording(entries, arrivals, np.array(list(sockets), SOCKET_ROW), np.concatenate(known), DESCRIPTION)


def fates(found) -> list[str]:
    return [FATES[fate] for fate in found.packets["fate"]]


def test_each_arrival_belongs_to_the_packet_before_it_on_the_same_link():
    sent = [{"time": 0, "identity": 7}, {"time": 0, "identity": 7, "point": 1}, {"time": 1, "identity": 8}]
    arrived = [(9.5, 1, 7), (9.6, 0, 7), (18, 0, 8), (19, 0, 8)]  # the last one is a duplicate
    found = journeys(recording(sent, arrived))
    assert [(each - BASE) / MS for each in found.packets["arrived"]] == [9.6, 9.5, 18]
    assert [(each - BASE) / MS for each in found.packets["sent"]] == [8.6, 8.528, 17]
    assert fates(found) == ["arrived"] * 3


def test_packets_that_look_the_same_are_matched_in_their_order():
    alike = [{"time": time, "identity": 7, "point": 1} for time in (0, 1, 2)]
    found = journeys(recording(alike, [(9.6, 1, 7), (18.1, 1, 7)]))
    assert [max(-1, each - BASE) // MS for each in found.packets["arrived"]] == [-1, 9, 18]


def test_the_cause_of_a_drop_is_what_the_queue_and_the_link_allow():
    burst = [{"time": 10, "identity": number} for number in range(5)]
    late = [{"time": 500, "identity": 90}, {"time": 500, "identity": 91, "point": 1}, {"time": 1999, "identity": 92}]
    arrived = [(19.6 + 8.5 * number, 0, number) for number in range(4)]
    found = fates(journeys(recording([*burst, *late], arrived)))
    assert found[:5] == [*["arrived"] * 4, "queue full"]
    assert found[5:] == ["loss", "dropped", "under way"], "the second came to a direction without loss"


def test_subflows_find_their_connection_by_its_token():
    token = hashlib.sha256(KEY).digest()[:4]
    flows = [
        flow(0, "10.0.1.1:5", "10.0.1.2:80", 2, token[::-1] + bytes(4)),  # seen first: its ring was read first
        flow(1, "10.0.0.1:4", "10.0.0.2:80", 1),
        flow(2, "10.0.0.2:80", "10.0.0.1:4", 1, KEY),
        flow(3, "10.0.1.2:80", "10.0.1.1:5", 2),
        flow(4, "10.0.0.1:4", "10.0.0.2:80"),  # the port is used again
    ]
    found = journeys(recording([], [], flows)).flows
    facts = [(each.reverse, each.connection, each.subflow, each.is_mptcp) for each in found]
    assert facts == [(3, 1, 1, True), (2, 1, 0, True), (1, 1, 0, True), (0, 1, 1, True), (None, 4, 0, False)]
    assert found[1].name == "TCP 10.0.0.1:4 → 10.0.0.2:80"


def test_events_are_found_and_on_the_page_with_what_was_sent_again(tmp_path):
    sent = [
        {"time": 0, "identity": 1, "flags": 2, "payload": 0, "seq": 2**32 - 1001},
        {"time": 20, "identity": 2, "seq": 2**32 - 1000},
        {"time": 30, "identity": 3, "seq": 0},  # sequence numbers wrap around
        {"time": 400, "identity": 4, "seq": 2**32 - 1000},
    ]
    sockets = np.zeros(3, SOCKET_ROW)
    sockets["time_ns"], sockets["congestion_state"] = BASE + np.array([0, 390, 420]) * MS, [0, 4, 4]
    made = recording(sent, [(9, 0, 1), (39, 0, 3), (410, 0, 4)], sockets=sockets)
    found = journeys(made)
    from_host = np.ones(4, bool)
    again = retransmissions(found, from_host)
    assert again.tolist() == [False, False, False, True]
    listed = events(found, made.sockets, from_host, again)
    assert [KINDS[kind] for kind in listed["kind"]] == ["connection", "loss", "timeout", "retransmission"]
    page = tmp_path / "page.html"
    page.write_text(render_watch([WatchedCell("run", "<script>", "a=1", made)]))
    facts, columns = shown(page)
    assert facts["title"] == "<script> a=1" and "<script> a=1" not in page.read_text()
    assert columns["entered"].tolist() == [0, 20 * MS, 30 * MS, 400 * MS]
    assert columns["eventTime"].tolist() == [0, 20, 390, 400]
    assert columns["seq"].tolist() == [0, 1, 1001, 1]
    assert "4 packets on 1 link in 2 s, of 1 connection; 1 dropped." in page.read_text()


def test_a_cut_is_among_the_events_when_it_happened(tmp_path):
    """The load began 100 ms after the recording; what nobody saw happen, or is no event, is left out."""
    events_of_cell = [
        {"event": "0.3s h1-h2 down", "happened_at_s": 0.301},
        {"event": "0.2s h1-h2 loss=1%", "happened_at_s": 0.2},
        {"event": "0.9s h1-h2 up", "happened_at_s": None},
        {"event": "soon h1-h2 up", "happened_at_s": 0.5},
    ]
    found = {"load_began_ns": 5_100 * MS, "load_s": 1.0, "events": events_of_cell}
    cell = CellResult(Cell({"a": 1}), Measurement({}), Certificate(Verdict.FAITHFUL, found=found))
    sent = [{"time": 300, "identity": 1}, {"time": 500, "identity": 2, "seq": 1001}]
    made = recording(sent, [(309, 0, 1)])
    assert link_changes(cell, made) == [], "a recording of an older version"
    made = replace(made, description={**DESCRIPTION, "began_monotonic_ns": 5_000 * MS})
    changes = link_changes(cell, made)
    assert changes == [(pytest.approx(0.3), "h1-h2 loss=1%"), (pytest.approx(0.4), "h1-h2 down")]
    page = tmp_path / "page.html"
    page.write_text(render_watch([WatchedCell("run", "scenario", "a=1", made, changes=changes)]))
    facts, columns = shown(page)
    happened = [(KINDS[kind], time) for kind, time in zip(columns["eventKind"], columns["eventTime"], strict=True)]
    assert happened == [("link change", 300), ("link change", 400), ("loss", 500)]
    assert [facts["changes"][n] for n in columns["eventFlow"][:2]] == ["h1-h2 loss=1%", "h1-h2 down"]
    assert "1 loss, 2 link changes." in page.read_text()


def test_states_of_senders_are_rows_of_a_frame():
    sockets = np.zeros(3, SOCKET_ROW)
    sockets["time_ns"], sockets["flow"], sockets["congestion_state"] = BASE + np.array([-1, 20, 10]) * MS, [0, 0, 1], 3
    sockets["cwnd"], sockets["ssthresh"], sockets["rtt_us"] = 10, [9, 7, 0x7FFFFFFF], 2500
    sockets["unacked"], sockets["sacked"], sockets["pacing_rate"] = 8, 3, [1, 125_000, 2**64 - 1]
    made = recording([{"time": 0, "identity": 1}], [(9, 0, 1)], sockets=sockets)
    frame = connections_frame({4: (made, journeys(made))})
    assert [*frame.cell] == [4, 4] and [*frame.time_s] == [0.01, 0.02] and [*frame.state] == ["recovery"] * 2
    assert [*frame.flow] == ["TCP 10.0.0.2:2 → 10.0.0.1:1", "TCP 10.0.0.1:1 → 10.0.0.2:2"]
    assert [*frame.ssthresh.fillna(-1)] == [-1, 7] and [*frame.pacing_bps.fillna(-1)] == [-1, 1e6]
    assert [*frame.in_flight] == [5, 5] and [*frame.rtt_ms] == [2.5, 2.5] and [*frame.cwnd] == [10, 10]
    assert list(connections_frame({}).columns) == ["cell"]


def test_a_file_is_read_whole_or_refused(tmp_path: Path):
    file = tmp_path / file_name("protocol=mptcp load=50 #1")
    assert file.name == "protocol-mptcp-load-50-1.packets"
    arrival = struct.pack("=IIQ", 2, 1, BASE) + struct.pack("=IIH", 5, 77, 3 | 3 << 14)
    text = json.dumps(DESCRIPTION).encode()
    file.write_bytes(arrival + struct.pack("=IIQ", 5, len(text), 0) + text)
    assert [int(read(file).arrivals[name][0]) for name in ("time", "identity", "point", "ecn")] == [BASE + 5, 77, 3, 3]
    append_description(file, DESCRIPTION)
    assert len(file.read_bytes()) < len(arrival) + 2 * len(text) and read(file).arrivals["point"].tolist() == [3]
    compressed = file.read_bytes()
    wrong = compressed.replace(struct.pack("=II", 2 | COMPRESSED, 1), struct.pack("=II", 2 | COMPRESSED, 2))
    damaged = compressed[:24] + bytes(8) + compressed[32:]
    for content in (arrival, arrival + compressed[:-1], b"something else, longer than a header", wrong, damaged):
        file.write_bytes(content)
        with pytest.raises(UsageError, match="no recording of this version"):
            read(file)
    with pytest.raises(UsageError, match="cannot read the recording"):
        read(tmp_path / "none")


def test_a_pcapng_file_has_the_headers_and_what_became_of_each_packet(tmp_path: Path):
    """tcpdump reads them, checksums included."""
    burst = [{"time": 10, "identity": number, "seq": 1000 * number + 1, "ecn": 3} for number in range(5)]
    ends = [("10.0.0.1:1", "10.0.0.2:2"), ("10.0.0.2:2", "10.0.0.1:1"), ("fd00::1:7", "fd00::2:9")]
    known = [flow(number, *each) for number, each in enumerate(ends)]
    late = [{"time": 500, "identity": 90, "point": 1, "flow": 1}]
    late += [{"time": 501, "identity": 91, "flow": 2, "headers": 94}]
    made = recording([*burst, *late], [(19.6 + 8.5 * number, 0, number) for number in range(4)], flows=known)
    file = tmp_path / "x.pcapng"
    assert write_pcapng(made, file, 0.01, 0.6) == 7
    argv = ["tcpdump", "-nn", "-tt", "--nano", "-S", "-v", "-r", str(file)]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert "bad" not in printed and "truncated" not in printed, printed
    assert printed.count("1700000000.010000000 IP (tos 0x3,CE, ttl 64, id 1") == 5, printed
    assert printed.count("10.0.0.1.1 > 10.0.0.2.2: Flags [.], seq ") == 5 and "seq 4001:5001, ack 1, win 9" in printed
    assert "10.0.0.2.2 > 10.0.0.1.1" in printed and "fd00::1.7 > fd00::2.9" in printed
    data = file.read_bytes()
    comments = (b"dropped: queue full", b"dropped: loss", b"waited 0.072 ms, arrived after 9.600 ms")
    assert [data.count(each) for each in comments] == [1, 1, 1] and b"h1->h2 (h1-eth0:h2-eth0)" in data


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--speed", "1/100"], "--speed is for pictures and films"),
        (["--speed", "1/0", "--output", "x.gif"], "'1/0' is not a speed"),
        (["--speed", "1/10000", "--output", "x.gif"], "the film would have more than 1500 frames"),
        (["--from", "3s", "--output", "x.png"], "the recording ends after 2 s"),
        (["--beside", "latest", "--output", "x.pcapng"], "a pcapng file has only one cell"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    store, result = Store.open(tmp_path / "runs"), simple()
    file = store.artifacts(begin(store, result)) / FOLDER / file_name(result.cell.label)
    file.parent.mkdir(parents=True)
    append_description(file, DESCRIPTION)
    assert main(["watch", "latest", *words, "--results", str(tmp_path / "runs")]) == 2
    assert said in capsys.readouterr().err and not [*tmp_path.glob("x.*")]
