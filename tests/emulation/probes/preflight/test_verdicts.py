"""What is not the path's figure is not taken for it: a really slow disk, and a really slow cipher."""

import os
import platform
from pathlib import Path

import pytest

from tests.support.slow_disk import slow_disk
from tests.support.ssh_far_end import far_end
from topologies.sandbox import sandbox


def test_a_slow_disk_is_the_limit(sandboxed):
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("needs /dev/fuse, for a disk that is slow")

    def body() -> None:
        sandbox.prepare_network()
        folder = Path("/run/slow")
        folder.mkdir()
        with far_end() as end, slow_disk(folder, 0.02):
            end.make("data", 100_000_000)
            done = end.run("--to", str(folder / "copy"), "--bytes", "2MB", file="data")
            assert done.code == 4, done.said
            (iteration,) = done.found["iterations"]
            assert iteration["verdict"] == "disk-limited", iteration
            assert "waited for the local disk" in iteration["reason"]
            done = end.run("--rate", "50Mbit", "--time", "500ms", file="data")
            assert done.found["iterations"][0]["verdict"] != "disk-limited", "the control: the same file, to nowhere"

    sandboxed(body)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="OpenSSL is told by OPENSSL_ia32cap to compute AES slowly")
@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com", "aes256-ctr"])
def test_a_slow_cipher_is_the_limit(cipher):
    """The client's processor is one without instructions for AES; the far end's has them."""
    with far_end() as end:
        done = end.run("--cipher", cipher, "--time", "1s", environment={"OPENSSL_ia32cap": "0"})
        assert done.code == 4, done.said
        (iteration,) = done.found["iterations"]
        assert iteration["verdict"] == "cipher-limited", iteration
        assert "in the cipher" in iteration["reason"]
