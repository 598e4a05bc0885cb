"""The tunnel with peers that send no authenticated keepalives."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import native
from tests.support.tunnel_net import MARKS, PATH, Net, net, ping, running
from topologies.testbed.tunnel import Tunnel, TunnelSpec

pytestmark = MARKS


@contextlib.contextmanager
def plain_end(it: Net, folder: Path, *, mode: str = "adaptive", keepalive: str = "") -> Iterator[Path]:
    """An end in h1 without keepalives of its own, over all paths; gives its configuration."""
    file = folder / "plain.conf"
    paths = [f"[path]\nlocal = {it.h1.address(n)}\nremote = {it.h2.address(n)}\n" for n in range(len(it.h1.intfs))]
    file.write_text(
        f"[tunnel]\ndevice = mpt0\naddresses = 10.99.0.1/24\ncontrol = {folder}/control\n"
        f"[reordering]\nmode = {mode}\n[keepalive]\nenabled = false\n{keepalive}\n" + "".join(paths)
    )
    end = it.h1.popen([str(native.binary("mptgre")), "run", str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert end.stdout.readline() == "ready\n"
        yield file
    finally:
        end.terminate()
        assert end.wait(30) == 0
        end.stdout.close()


def received(output: str) -> int:
    return int(re.search(r"(\d+) received", output)[1])


@pytest.mark.parametrize("mode", ["off", "fixed"])
def test_it_talks_to_another_implementation_of_the_wire_format(sandboxed, tmp_path, mode):
    def body() -> None:
        with net(PATH) as it:
            sequenced = "0" if mode == "off" else "1"
            with (
                running(it.h2, "echo", it.h2.address(0), it.h1.address(0), sequenced),
                plain_end(it, tmp_path, mode=mode),
            ):
                ping(it.h1, "10.99.0.2", "-c", "5", "-i", "0.05")
                ping(it.h1, "10.99.0.2", "-c", "2", "-i", "0.05", "-s", "1400")

    sandboxed(body)


def test_a_peer_that_starts_again_is_not_taken_for_copies_of_what_it_sent_before(sandboxed):
    def body() -> None:
        with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(keepalives=False)) as tunnel:
            target = tunnel.address(it.h2)
            assert received(ping(it.h1, target, "-c", "600", "-i", "0.002")) == 600
            end = tunnel._ends[1]
            end.process.kill()
            end.process.wait()
            (end.folder / "control").unlink()
            with contextlib.ExitStack() as stack:
                tunnel._ends[1] = tunnel._start(end.host, 2, end.folder, stack)
                assert received(ping(it.h1, target, "-c", "100", "-i", "0.01")) > 80

    sandboxed(body)
