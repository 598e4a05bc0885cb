"""The smallest inputs of the faults that the fuzz targets have found: each ended in a traceback once, or worse."""

import json
import struct
import subprocess
from pathlib import Path

import pytest

import native
from tests.fuzz.loop import target_named
from tests.fuzz.python.spool import packed
from tests.fuzz.records import pack
from tests.fuzz.seeds import object_files

TESTS = Path(__file__).parents[2]
DIGITS = "9" * 5000
_HEADING = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,Latency,"
    "Connect,account,question,choice,due_ms\n"
)


def sample(due: str = "1", question: str = "1") -> bytes:
    """A result file of JMeter with one answer that was saved."""
    return f"{_HEADING}1,1,save answer,200,OK,a 1-1,true,,1,1,1,1,a,{question},A,{due}\n".encode()


def cell(**changes: object) -> dict:
    """A cell that waits for its store."""
    found = {"cell": {"parameters": {"a": 1}, "repetition": 1}, "measurement": {}, "order": 1, "started_at": None}
    return {**found, "certificate": {"verdict": "faithful"}, **changes}


def port_status(number: int) -> bytes:
    """A switch tells of a port."""
    port = struct.pack("!I4x6s2x16sIIIIIIII", number, bytes(6), b"x", *[0] * 8)
    return struct.pack("!BBHI", 4, 12, 80, 1) + struct.pack("!B7x", 2) + port


def rules_reply(instruction: bytes) -> bytes:
    """A switch tells of one rule, which matches everything and has this instruction."""
    match = struct.pack("!HH4x", 1, 4)
    length = 48 + len(match) + len(instruction)
    rule = struct.pack("!HBxIIHHHH4xQQQ", length, 0, 1, 1, 1, 0, 0, 0, 1, 7, 700) + match + instruction
    return struct.pack("!BBHIHH4x", 4, 19, 16 + len(rule), 1, 1, 0) + rule


def endless_measurement(field: str = '"cores": 2', number: str = "1e999") -> bytes:
    """A measurement of preflight in which a number is too large for a float."""
    text = (TESTS / "data/preflight_upload.json").read_text()
    assert field in text
    return text.replace(field, f"{field.split()[0]} {number}").encode()


def endless_plan() -> bytes:
    """A plan without a cell, very often."""
    rest = {"form": "quick", "settings": {}, "seed": 1, "only": {}, "events": []}
    return json.dumps({"axes": {"load": []}, "repeat": 2**31, **rest}).encode()


def link(**attributes: int) -> bytes:
    """A network of two switches and a link between them."""
    ends = {name: {"switch": f"s{port}", "port": port} for port, name in enumerate("ab", start=1)}
    switches = [{"name": f"s{number}", "dpid": number} for number in (1, 2)]
    return json.dumps({"switches": switches, "links": [{**ends, **attributes}]}).encode()


FOUND = {
    "a delay beyond what a float holds": ("networks", link(delay_us=int(DIGITS[:400]))),
    "a capacity beyond what a float holds": ("networks", link(capacity_bps=int(DIGITS[:400]))),
    "a time in a measurement that no float holds": (
        "measurements",
        b"\0" + endless_measurement('"session_s": 0.06016381999961595', DIGITS[:400]),
    ),
    "an infinite number in a measurement": ("measurements", b"\0" + endless_measurement()),
    "half a character": ("rows", json.dumps([["runs", "environment", 0, '{"host": "\\ud800"}']])),
    "a cell of another form": ("spool", packed({"cell": "x"})),
    "an end at no time": ("spool", packed({"end": {"status": "done", "ended_at": "2026-11-21T0:1_000", "facts": {}}})),
    "a plan of two billion repetitions": ("options", b"\0" + endless_plan()),
    "a number too large for the store": ("spool", packed({"cell": cell(order=2**70)})),
    "an environment that is no JSON": ("rows", json.dumps([["runs", "environment", 2, "\u202e"]])),
    "a reason with a control character": ("rows", json.dumps([["claims", "why", 3, "\0"]])),
    "a status that is none": ("spool", packed({"end": {"status": "dancing", "ended_at": "x", "facts": {}}})),
    "a report of iperf3 with a list": ("measurements", b"\2" + json.dumps({"end": {"sum_sent": []}}).encode()),
    "a time beyond 64 bits": ("loads", sample(due=DIGITS[:30])),
    "a time of thousands of digits": ("loads", sample(due=DIGITS)),
    "a question that is a superscript": ("loads", sample(question="\u00b2")),
    "a trace of thousands of digits": ("options", b"\5" + DIGITS.encode()),
    "a trace beyond what a float holds": ("options", b"\5" + DIGITS[:400].encode()),
    "an infinite bandwidth": ("options", f"\1bandwidth={DIGITS[:400]}bit".encode()),
    "an infinite queue in packets": ("options", f"\1queue={DIGITS[:400]}p".encode()),
    "an infinite queue in time": ("options", f"\1bandwidth=1Gbit queue={DIGITS[:305]}s".encode()),
    "an answer that is a number": ("answers", b"3"),
    "an error of no class": ("answers", b'{"error": {"kind": "__doc__", "message": "", "hint": ""}}'),
    "a result without a cell": ("answers", b'{"result": {}}'),
    "a folder without attributes": ("sftp", pack([(101, bytes(4)), (101, bytes(4))])),
    "a status that is no text": ("sftp", pack([(101, struct.pack("!II", 4, 1) + b"\xff")] * 3)),
    "attributes without end": ("sftp", pack([(101, bytes(4)), (105, struct.pack("!II", 1 << 31, 2**32 - 1))])),
    "attributes whose number is cut off": (
        "sftp",
        pack([*[(101, bytes(12))] * 2, (105, struct.pack("!IQIIIII", 1 << 31 | 15, *[0] * 6) + b"\3")]),
    ),
    "padding that is longer than its packet": ("packets", pack([(0, bytes([200, 94, 0, 0, 0, 7]) + bytes(26))])),
    "a packet of padding alone": ("packets", pack([(0, bytes([15]) + bytes(15))])),
    "an instruction without a length": ("openflow", b"\1" + pack([(1, rules_reply(struct.pack("!HH4x", 4, 0)))])),
    "an action without a length": ("openflow", b"\1" + pack([(1, rules_reply(struct.pack("!HH4xHH4x", 4, 16, 0, 0)))])),
    "a port beyond all ports": ("openflow", b"\0" + pack([(1, port_status(2**23))])),
}


@pytest.mark.parametrize(("target", "data"), FOUND.values(), ids=FOUND)
def test_an_input_that_made_a_fault_is_read_or_refused(target, data):
    target_named(target).read(data if isinstance(data, bytes) else data.encode())


# --- objects of the loader ---


def name_in(content: bytes, folder: Path) -> subprocess.CompletedProcess[str]:
    """What the loader says of an object."""
    file = folder / "object.o"
    file.write_bytes(content)
    argv = [native.binary("congestion_loader"), "name", str(file)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=10)


@pytest.fixture(scope="module")
def whole() -> bytes:
    """An object with the description of its types."""
    found = [content for content in object_files() if b".BTF" in content]
    if not found:
        pytest.skip("needs a clang that compiles for BPF")
    return found[0]


def section(content: bytes, name: bytes) -> int:
    """Where the header of a section begins."""
    begin, size, count, names = *struct.unpack_from("<Q", content, 40), *struct.unpack_from("<HHH", content, 58)
    texts = struct.unpack_from("<Q", content, begin + names * size + 24)[0]
    headers = [begin + number * size for number in range(count)]
    at = (texts + struct.unpack_from("<I", content, header)[0] for header in headers)
    return next(header for header, text in zip(headers, at, strict=True) if content[text:].startswith(name + b"\0"))


def test_types_without_contents_are_refused(whole, tmp_path):
    damaged = bytearray(whole)
    struct.pack_into("<I", damaged, section(whole, b".BTF") + 4, 8)  # SHT_NOBITS
    assert name_in(whole, tmp_path).stdout == "reno_x\n"
    assert name_in(bytes(damaged), tmp_path).returncode == 2


def test_a_member_whose_name_lies_outside_of_all_names_is_refused(whole, tmp_path):
    damaged = bytearray(whole)
    begin, size = struct.unpack_from("<QQ", whole, section(whole, b".BTF") + 24)
    header, _types, types_size, texts = struct.unpack_from("<IIII", whole, begin + 4)
    place = struct.pack("<I", whole.index(b"\0name\0", begin + header + texts) + 1 - (begin + header + texts))
    assert begin + size <= len(whole)
    for at in range(begin + header, begin + header + types_size, 4):
        if damaged[at : at + 4] == place:
            damaged[at : at + 4] = b"\xff\xff\xff\x7f"
    assert name_in(bytes(damaged), tmp_path).returncode == 2
