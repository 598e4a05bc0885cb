"""Reads what a page of `flightpath watch` shows, and what a capture saw of the same packets."""

import base64
import json
import re
import subprocess
import zlib
from pathlib import Path

import numpy as np

_FACTS = re.compile(r'<script type="application/json" class="facts">(.*?)</script>')
_COLUMNS = re.compile(r'<script type="text/plain" class="columns">(.*?)</script>')
# What follows the length is what tcpdump knows of the data: `HTTP: GET / HTTP/1.1`.
_TCP = re.compile(r"^(\d+)\.(\d{9}) IP (\S+) > (\S+): .*? length (\d+)(?::.*)?$", re.MULTILINE)


def shown(page: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The facts of a page's first run, and its columns; `entered` and `arrived` are in ns since the recording began."""
    text = page.read_text(encoding="utf-8")
    facts = json.loads(_FACTS.search(text)[1])
    data, columns, at = zlib.decompress(base64.b64decode(_COLUMNS.search(text)[1])), {}, 0
    for name, kind, length in facts["columns"]:
        columns[name] = np.frombuffer(data, kind, length, at)
        at += columns[name].nbytes
    columns["entered"] = np.cumsum(columns["gap"].astype("i8")) * facts["unit"]
    reached = columns["transit"] != 0xFFFFFFFF
    columns["arrived"] = np.where(reached, columns["entered"] + columns["transit"], np.iinfo("i8").max)
    return facts, columns


def captured_bytes(file: Path, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Times in ns since 1970 of the TCP segments that an address has sent, and their bytes of data, by tcpdump."""
    argv = ["tcpdump", "-nn", "-tt", "--nano", "-r", str(file), f"tcp and src host {source}"]
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found = _TCP.findall(output)
    assert len(found) == len(output.splitlines())
    return np.array([int(s) * 10**9 + int(ns) for s, ns, *_ in found]), np.array([int(each[-1]) for each in found])
