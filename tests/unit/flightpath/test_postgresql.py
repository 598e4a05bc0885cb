import pytest

from flightpath import postgresql
from flightpath.errors import MissingCapability


def test_missing_postgresql_is_a_missing_capability(monkeypatch, tmp_path):
    monkeypatch.setattr(postgresql, "INSTALLED", tmp_path)
    with pytest.raises(MissingCapability, match="make setup"):
        postgresql.programs()


def test_the_newest_postgresql_is_used(monkeypatch, tmp_path):
    for version in ("9.6", "15", "17"):
        program = tmp_path / version / "bin" / "initdb"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    monkeypatch.setattr(postgresql, "INSTALLED", tmp_path)
    assert postgresql.programs() == tmp_path / "17" / "bin"
