"""A figure of the measurements of a student's work, in the folder of the answers."""

from pathlib import Path

from labs.framework.lab import Lab, Measured
from results.figures import style
from results.store.ownership import give_to_caller

NAME = "check"
_UNITS = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3)}


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
        files = style.save(figure, folder, NAME)
    give_to_caller(*files)
    return next(file for file in files if file.suffix == ".png")
