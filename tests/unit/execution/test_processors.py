"""Choice of a processor for a guest."""

from execution.uml import processors


def test_guests_that_run_at_once_have_processors_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(processors, "_FOLDERS", tmp_path)
    monkeypatch.setattr(processors, "idlest_first", lambda: [3, 1])
    for number in (1, 3):
        (tmp_path / f"cpu{number}").mkdir()
    with processors.taken() as first:
        with processors.taken() as second, processors.taken() as third, processors.taken(1) as wanted:
            assert (first, second, third, wanted) == (3, 1, 3, 1), "the third has to share one"
        with processors.taken() as next_one:
            assert next_one == 1
    monkeypatch.setattr(processors, "_FOLDERS", tmp_path / "none")
    with processors.taken() as without_sys:
        assert without_sys == 3
