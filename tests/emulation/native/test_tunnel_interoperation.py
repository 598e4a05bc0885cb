"""The tunnel with peers that are not ours."""

import subprocess
from pathlib import Path

import pytest

import native
from tests.support.tunnel_net import MARKS, PATH, Net, net, ping, running

pytestmark = MARKS


def interop_configuration(folder: Path, it: Net, mode: str) -> Path:
    text = f"""
        [tunnel]
        device = mpt0
        addresses = 10.99.0.1/24
        [reordering]
        mode = {mode}
        [keepalive]
        enabled = false
        [path]
        local = {it.h1.address(0)}
        remote = {it.h2.address(0)}
    """
    (folder / "plain.conf").write_text(text)
    return folder / "plain.conf"


@pytest.mark.parametrize("mode", ["off", "fixed"])
def test_it_talks_to_another_implementation_of_the_wire_format(sandboxed, tmp_path, mode):
    def body() -> None:
        with net(PATH) as it:
            sequenced = "0" if mode == "off" else "1"
            file = interop_configuration(tmp_path, it, mode)
            with running(it.h2, "echo", it.h2.address(0), it.h1.address(0), sequenced):
                end = it.h1.popen([str(native.binary("mptgre")), "run", str(file)], stdout=subprocess.PIPE, text=True)
                try:
                    assert end.stdout.readline() == "ready\n"
                    ping(it.h1, "10.99.0.2", "-c", "5", "-i", "0.05")
                    ping(it.h1, "10.99.0.2", "-c", "2", "-i", "0.05", "-s", "1400")
                finally:
                    end.terminate()
                    assert end.wait(30) == 0

    sandboxed(body)
