"""The page on which a student watches what happened in a check, in the folder of the answers."""

import tempfile
from pathlib import Path

from flightpath.errors import UsageError
from labs.framework.checking import Checked, check
from labs.framework.work import PAGE, Submission
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.file import read
from results.store.ownership import give_to_caller


def watched_check(submission: Submission) -> tuple[Checked, Path | None]:
    """Tries and judges a submission, and writes `check.html`; returns no page if there are no packets to be seen."""
    with tempfile.TemporaryDirectory(prefix="flightpath-check-") as folder:
        file = Path(folder) / "check.packets"
        checked = check(submission, file)
        try:
            recording = read(file)
        except UsageError:  # it was not tried, or came to no end
            return checked, None
    lab, page = submission.lab, submission.work.folder / PAGE
    title = f"{lab.title}, the variant of {submission.variant.student}"
    cell = WatchedCell("flightpath lab check", f"Lab {lab.number}", title, recording)
    page.write_text(render_watch([cell]), encoding="utf-8")
    give_to_caller(page)
    return checked, page
