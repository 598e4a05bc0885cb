"""A limit that is not the path's is not taken for it: a disk that is really slow, and a cipher that is."""

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
                time.sleep(0.1)  # the disk is that slow: a busy machine lets the client wait less for a processor

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    done = end.run("--to", str(slow), "--bytes", "2MB", file="data")
    thread.join(30)
    assert not thread.is_alive(), "the file was never closed"
    assert done.code == 4, done.said
    (iteration,) = done.found["iterations"]
    assert iteration["verdict"] == "disk-limited", iteration
    assert "waited for the local disk" in iteration["reason"]
    (control,) = end.measured("--rate", "50Mbit", "--bytes", "3MB", file="data")["iterations"]
    assert control["verdict"] != "disk-limited", "the same file, to nowhere"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="OpenSSL is told by OPENSSL_ia32cap to compute AES slowly")
@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com", "aes256-ctr"])
def test_a_slow_cipher_is_told_from_the_rest_of_the_client(end, cipher):
    """The client's processor is one without instructions for AES; on a busy machine it also waits for the far end's."""
    done = finish(end.start("--cipher", cipher, "--bytes", "60MB", environment={"OPENSSL_ia32cap": "0"}))
    (iteration,) = done.found["iterations"]
    load = iteration["streams"][0]["load"]
    assert load["cipher_s"] > 0.5 * load["cpu_s"], iteration  # most of it: a busy machine adds to the rest
    is_limit = load["network_s"] < 0.1 * sum(load[f"{name}_s"] for name in ("cpu", "queued", "disk", "network"))
    assert (iteration["verdict"] == "cipher-limited") == is_limit and done.code == (4 if is_limit else 0), iteration
    (control,) = end.measured("--cipher", cipher, "--bytes", "60MB")["iterations"]
    fast = control["streams"][0]["load"]
    assert fast["cipher_s"] / fast["cpu_s"] < load["cipher_s"] / load["cpu_s"] - 0.1, "with instructions for AES"
