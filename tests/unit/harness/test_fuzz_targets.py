"""The fuzz targets over their seeds and some variations, always the same; `make fuzz` looks further, with clang.

`make test` tries the first of the variations, for a fault that is easily found; `make test-all` tries them all.
"""

import math
import random
import struct
import subprocess
from pathlib import Path

import pytest

import native
from flightpath.project import PROJECT
from tests.fuzz.loop import TARGETS, target_named
from tests.fuzz.mutation import vary_bytes
from tests.fuzz.seeds import object_files, seeds
from tests.fuzz.targets import MAX_BYTES, VARIATIONS, build
from tests.support.finished import finished
from tests.support.rings import nightly

INPUTS = {"frames": 50, "imports": 80, "pages": 8, "rows": 8, "spool": 10, "measurements": 20, "openflow": 40}
OTHERS = 150
in_parts = pytest.mark.parametrize("part", [0.2, nightly(1)])


@in_parts
@pytest.mark.parametrize("target", VARIATIONS)
def test_hostile_input_crashes_nothing_and_the_books_balance(target, part):
    originals, chance = seeds(target), random.Random(target)
    varied = [vary_bytes(chance, originals)[:MAX_BYTES] for _ in range(round(part * VARIATIONS[target]))]
    inputs = b"".join(len(each).to_bytes(2, "big") + each for each in (*originals, *varied))
    done = subprocess.run([build(target, libfuzzer=False)], input=inputs, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


@in_parts
@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_read_or_refused_and_fills_nothing(name, part):
    target = target_named(name)
    for number in range(math.ceil(part * INPUTS.get(name, OTHERS))):
        target.read(target.made(random.Random(f"{name} {number}")))


FOUND = sorted((PROJECT / "tests/fuzz/found").glob("*/*"))
"""In a folder for each target: `make fuzz` keeps such an input, which then belongs there under the fault's name."""


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.name)
def test_an_input_that_made_a_fault_is_read_or_refused(file):
    target_named(file.parent.name).read(file.read_bytes())


# --- objects of the loader ---


def name_in(content: bytes, folder: Path) -> subprocess.CompletedProcess[str]:
    """Output of the loader about an object."""
    file = folder / "object.o"
    file.write_bytes(content)
    return finished([native.binary("congestion_loader"), "name", str(file)], timeout=10)


@pytest.fixture(scope="module")
def whole() -> bytes:
    """An object with the description of its types."""
    found = [content for content in object_files() if b".BTF" in content]
    if not found:
        pytest.skip("needs a clang that compiles for BPF")
    return found[0]


def section(content: bytes, name: bytes) -> int:
    """Offset of the header of a section."""
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
