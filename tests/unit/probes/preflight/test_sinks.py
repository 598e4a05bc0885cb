"""A download's file has its name only when it is whole."""

import os

import pytest

from probes.preflight.transfer.sinks import FileSink, local_file


@pytest.mark.parametrize("nameless", [True, False], ids=["without a name until then", "with another name"])
def test_a_file_gets_its_name_when_it_is_whole(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.setattr(os, "O_TMPFILE", 0)  # then open(2) fails as on a file system without such files
    target = tmp_path / "copy"
    with local_file(str(target), 6) as name:
        sink = FileSink(name)
        sink.write(memoryview(b"def"), 3)
        sink.write(memoryview(b"abc"), 0)
        sink.close()
        assert len(list(tmp_path.iterdir())) == (0 if nameless else 1)
    assert target.read_bytes() == b"abcdef"
    with pytest.raises(KeyboardInterrupt), local_file(str(target), 9):
        raise KeyboardInterrupt
    assert target.read_bytes() == b"abcdef"
    assert list(tmp_path.iterdir()) == [target]
