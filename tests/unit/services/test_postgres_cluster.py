import tempfile
from pathlib import Path

from services import postgres_cluster
from services.running.privileges import Privileges


def test_a_cluster_from_the_archive_is_what_initdb_makes(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres_cluster, "build_folder", lambda: tmp_path / "build")
    postgres_cluster.archive_cluster()
    (archive,) = (tmp_path / "build").iterdir()
    made = []
    for _ in ("from the archive", "by initdb"):
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            folder = Path(name)
            Privileges.detect().give(folder)
            cluster = postgres_cluster.make_cluster(folder, Privileges.detect())
            assert {path.stat().st_uid for path in cluster.rglob("*")} == {folder.stat().st_uid}
            made.append({str(path.relative_to(cluster)) for path in cluster.rglob("*")})
        archive.unlink(missing_ok=True)
    assert made[0] == made[1] > {"PG_VERSION"}
