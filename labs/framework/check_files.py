"""Files that a check leaves beside the answers: a figure of the measurements, and a page with the packets."""

import tempfile
from pathlib import Path

from flightpath.errors import UsageError
from labs.framework.checking import Checked, check
from labs.framework.lab import Lab, Measured
from labs.framework.work import PAGE, Submission
from results.figures import style
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.file import read
from results.store.ownership import give_to_caller

_UNITS = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3)}


def watched_check(submission: Submission) -> tuple[Checked, Path | None]:
    """Tries and judges a submission, and writes `check.html`; returns no page if no packets were recorded."""
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


def draw(lab: Lab, measured: Measured, folder: Path) -> Path | None:
    """Draws each series into `check.png` of a folder; returns None if there is nothing to draw."""
    if not measured.series:
        return None
    badge = f"{measured.verdict}: {'; '.join(measured.reasons)}" if measured.reasons else str(measured.verdict)
    with style.drawing():
        figure = style.new_figure(1.9 * len(measured.series), f"Lab {lab.number}: {lab.title}", badge, measured.verdict)
        rows = figure.subplots(len(measured.series), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, series) in zip(rows, measured.series.items(), strict=True):
            unit, scale = _UNITS.get(series.unit, (series.unit, 1.0))
            axes.plot(series.times_s, [scale * value for value in series.values], linewidth=1.2)
            axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
            last = axes is rows[-1]
            style.plain_axes(axes, "time (s)" if last else "", unit if unit != "1" else "", name.replace("_", " "))
        png, _ = style.save(figure, folder, "check")
    return png
