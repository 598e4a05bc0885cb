"""The museum's entries: each is an experiment file with a table `[report]`."""

from pathlib import Path

from experiments.files.reading import experiment, first_values, read
from experiments.files.tables import Experiment, Report
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

ENTRIES = Path(__file__).parent / "entries"


def names() -> list[str]:
    """Returns the names of all entries, in alphabetical order."""
    return sorted(file.stem for file in ENTRIES.glob("*.toml"))


def file_of(name: str) -> Path:
    """Returns the file of an entry.

    Raises:
        UsageError: there is none.
    """
    if name not in names():
        raise UsageError(f"the museum has no entry {name!r}", did_you_mean(name, names()))
    return ENTRIES / f"{name}.toml"


def entry(name: str) -> tuple[Experiment, Report]:
    """Returns an entry, with the first value of each parameter, and the report that it answers."""
    _, content = read(file_of(name))
    found = experiment(content, first_values(content))
    assert found.report is not None, f"{name} has no table [report]"
    return found, found.report
