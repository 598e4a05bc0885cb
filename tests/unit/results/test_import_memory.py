"""Memory that an import may take: of the machine, and of what control groups of either version leave."""

import zipfile

import pytest

from flightpath.errors import UsageError
from flightpath.processes import memory_bytes
from results.exchange import files, memory
from results.exchange.files import read_export

MEGABYTE = 1 << 20
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@pytest.fixture
def in_group(tmp_path, monkeypatch):
    """Puts this process into made-up control groups, given by their files, and how /proc describes its own."""
    monkeypatch.setattr(memory, "_GROUP_FILES", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")

    def put(own: str, **groups: tuple[tuple[str, str, str], object, int, int]) -> None:
        (tmp_path / "own").write_text(own)
        for folder, (names, limit, used, cached) in groups.items():
            path = tmp_path / "groups" / folder.replace("__", "/")
            path.mkdir(parents=True, exist_ok=True)
            for name, text in zip(names, (limit, used, f"anon 7\n{names[2]} {cached}"), strict=True):
                (path / (name if name in names[:2] else "memory.stat")).write_text(f"{text}\n")

    return put


def test_a_group_of_version_2_leaves_its_limit_less_what_it_has_taken_but_for_the_cache_of_files(in_group):
    in_group("0::/a/b\n", a__b=(VERSION_2, "max", 50, 0), a=(VERSION_2, 100 * MEGABYTE, 90 * MEGABYTE, 60 * MEGABYTE))
    assert memory.available_bytes() == 70 * MEGABYTE


@pytest.mark.parametrize("folder", ["memory__a", "memory"])
def test_groups_of_version_1_count_too_and_in_a_container_only_the_first_is_seen(in_group, folder):
    own = "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n"
    in_group(own, **{folder: (VERSION_1, 100 * MEGABYTE, 40 * MEGABYTE, 10 * MEGABYTE)})
    assert memory.available_bytes() == 70 * MEGABYTE


def test_without_a_limit_the_machine_decides(in_group):
    in_group("4:memory:/\n0::/\n", memory=(VERSION_1, 9223372036854771712, 40 * MEGABYTE, 0))
    assert abs(memory.available_bytes() - memory_bytes()["MemAvailable"]) < 2000 * MEGABYTE


def test_a_file_that_does_not_fit_is_not_even_read(in_group, tmp_path, monkeypatch):
    in_group("0::/a\n", a=(VERSION_2, 100 * MEGABYTE, 99 * MEGABYTE, 0))
    file = tmp_path / "large.json"
    with file.open("wb") as sparse:
        sparse.truncate(500 * MEGABYTE)
    monkeypatch.setattr(files.Path, "read_bytes", lambda _: pytest.fail("it was read"))
    with pytest.raises(UsageError, match="500 MiB of memory, and 1 MiB are left"):
        read_export(file)


def test_a_small_zip_that_would_take_all_memory_is_unpacked_and_not_parsed(in_group, tmp_path, monkeypatch):
    in_group("0::/a\n", a=(VERSION_2, 100 * MEGABYTE, 0, 0))
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", f"[{'[],' * 10**6}[]]")
    assert file.stat().st_size < 2**13
    monkeypatch.setattr(files.json, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(UsageError, match="247 MiB of memory, and 100 MiB are left"):
        read_export(file)
