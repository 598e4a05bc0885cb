"""The tunnel with peers that send no authenticated keepalives."""

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import native
from flightpath.waiting import wait_until
from tests.support.orphans import orphaned
from tests.support.tunnel_net import PATH, Net, net, ping, running
from topologies.testbed.tunnel import Tunnel, TunnelSpec

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]


def configuration(it: Net, folder: Path, *, keepalive: str = "") -> Path:
    """The configuration of an end in h1 without keepalives of its own, over all paths."""
    file = folder / "plain.conf"
    paths = [f"[path]\nlocal = {it.h1.address(n)}\nremote = {it.h2.address(n)}\n" for n in range(len(it.h1.intfs))]
    file.write_text(
        f"[tunnel]\ndevice = mpt0\naddresses = 10.99.0.1/24\ncontrol = {folder}/control\n"
        f"[keepalive]\nenabled = false\n{keepalive}\n" + "".join(paths)
    )
    return file


@contextlib.contextmanager
def plain_end(it: Net, folder: Path, **options: str) -> Iterator[Path]:
    """Such an end; gives its configuration."""
    file = configuration(it, folder, **options)
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


def test_a_peer_that_starts_again_is_not_taken_for_copies_of_what_it_sent_before():
    with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(keepalives=False)) as tunnel:
        target = tunnel.address(it.h2)
        assert received(ping(it.h1, target, "-c", "600", "-i", "0.002")) == 600
        end = tunnel._ends[1]
        end.process.kill()
        end.process.wait()
        with contextlib.ExitStack() as stack:
            tunnel._ends[1] = tunnel._start(end.host, 2, end.folder, stack)
            assert received(ping(it.h1, target, "-c", "100", "-i", "0.01")) > 80


def addresses(it: Net) -> list[str]:
    return [host.address(path) for path in (0, 1) for host in (it.h2, it.h1)]


def test_plain_keepalives_are_answered_and_show_which_paths_are_up(tmp_path):
    with (
        net(PATH, PATH) as it,
        running(it.h2, "reference", "0.4", *addresses(it)) as peer,
        plain_end(it, tmp_path, keepalive="answer_plain = true\ndead_ms = 2000") as file,
    ):
        assert {peer.stdout.readline() for _ in range(4)} == {"0\n", "1\n"}

        def states() -> list[str]:
            status = it.h1.run([str(native.binary("mptgre")), "status", str(file), "--json"])
            return [path["state"] for path in json.loads(status)["paths"]]

        assert states() == ["up", "up"]
        it.link(1).set_black_hole(True)
        wait_until(lambda: states() == ["up", "down"], "the path to be found dead", 30)
        assert received(ping(it.h1, "10.99.0.2", "-c", "50", "-i", "0.01")) == 50
        it.link(1).set_black_hole(False)
        wait_until(lambda: states() == ["up", "up"], "the path to come back", 30)


def test_plain_keepalives_are_not_answered_unless_that_is_set(tmp_path):
    with (
        net(PATH, PATH) as it,
        running(it.h2, "reference", "0.1", *addresses(it)) as peer,
        plain_end(it, tmp_path) as file,
    ):

        def malformed() -> int:
            status = it.h1.run([str(native.binary("mptgre")), "status", str(file), "--json"])
            return json.loads(status)["control"]["malformed"]

        wait_until(lambda: malformed() > 10, "keepalives to come", 30)
        peer.kill()
        assert peer.stdout.read() == ""


def test_it_ends_with_its_parent(tmp_path):
    with net(PATH) as it:
        with orphaned([native.binary("mptgre"), "run", configuration(it, tmp_path)], it.h1.popen):
            assert "mpt0" in it.h1.run(["ip", "-br", "link"])
        wait_until(lambda: "mpt0" not in it.h1.run(["ip", "-br", "link"]), "the device to go", 30)
        assert not (tmp_path / "control").exists()
