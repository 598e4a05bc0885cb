"""What is not the path's figure is not taken for it: a disk that is really slow, and a cipher that is."""

import os
import platform
import threading
import time

import pytest

from tests.support.ssh_far_end import finish


def test_a_slow_disk_is_the_limit(end, tmp_path):
    end.make("data", 100_000_000)
    slow = tmp_path / "copy"
    os.mkfifo(slow)

    def drain():
        with slow.open("rb", buffering=0) as reading:
            while reading.read(65_536):
                time.sleep(0.01)  # the disk is that slow

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    done = end.run("--to", str(slow), "--bytes", "4MB", file="data")
    thread.join(30)
    assert not thread.is_alive(), "the file was never closed"
    assert done.code == 4, done.said
    (iteration,) = done.found["iterations"]
    assert iteration["verdict"] == "disk-limited", iteration
    assert "waited for the local disk" in iteration["reason"]
    (control,) = end.measured("--rate", "50Mbit", "--time", "500ms", file="data")["iterations"]
    assert control["verdict"] != "disk-limited", "the same file, to nowhere"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="OpenSSL is told by OPENSSL_ia32cap to compute AES slowly")
@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com", "aes256-ctr"])
def test_a_slow_cipher_is_the_limit(end, cipher):
    """The client's processor is one without instructions for AES; the far end's has them."""
    done = finish(end.start("--cipher", cipher, "--time", "1s", environment={"OPENSSL_ia32cap": "0"}))
    assert done.code == 4, done.said
    (iteration,) = done.found["iterations"]
    assert iteration["verdict"] == "cipher-limited", iteration
    assert "in the cipher" in iteration["reason"]
