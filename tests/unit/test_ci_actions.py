"""CI runs programs of others only in a version that nobody can change: tags can be moved, commits cannot."""

import re

from flightpath.project import PROJECT

PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_actions_are_named_by_commit_with_their_version():
    files = sorted((PROJECT / ".github/workflows").glob("*.yml"))
    used = [line.strip(" -") for file in files for line in file.read_text().splitlines() if "uses:" in line]
    assert used
    assert not [line for line in used if not PINNED.fullmatch(line)]
