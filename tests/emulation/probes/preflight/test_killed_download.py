"""A download into a file that is killed leaves nothing beside that file."""

from pathlib import Path

from tests.support.ssh_far_end import FarEnd, wait_for_transfer


def test_a_killed_download_leaves_no_partial_file(own_end: FarEnd, tmp_path: Path) -> None:
    own_end.make("data", 500_000_000)
    target = tmp_path / "copy"
    process = own_end.start("--to", str(target), "--rate", "20Mbit", files=("data",))
    wait_for_transfer(own_end, process)
    process.kill()
    process.communicate(timeout=30)
    assert list(tmp_path.iterdir()) == []


def test_a_whole_download_replaces_what_was_there(own_end: FarEnd, tmp_path: Path) -> None:
    own_end.make("data", 500_000)
    target = tmp_path / "copy"
    target.write_text("before")
    done = own_end.run("--to", str(target), file="data")
    assert done.code in (0, 4), done.said  # 4: this machine was busy
    assert target.read_bytes() == bytes(500_000)
    assert list(tmp_path.iterdir()) == [target]
