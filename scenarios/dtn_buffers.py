"""Throughput against socket buffer and file size: experiment 1 of Mohammed et al., "Net-Preflight Check" (2021)."""

from functools import partial

from experiments.claims import Evidence
from experiments.judging import ABOUT_PERCENT, ALIKE, LESS, MORE, Found, change, claim
from experiments.parameters import Axis
from results.figures.drawing import Figures
from scenarios.dtn.transfer import KERNEL_DEFAULT, DtnTransfer, goodput_curves, goodput_steps

LARGEST_KIB = 4096


def _against_default(evidence: Evidence) -> dict[str, Found]:
    """Returns the change from the kernel's own buffer to the largest one, at each file size."""
    return {
        f"{size} MB": change(
            evidence,
            "goodput",
            {"size_mb": size, "buffer_kib": KERNEL_DEFAULT},
            {"size_mb": size, "buffer_kib": LARGEST_KIB},
        )
        for size in evidence.tried("size_mb")
    }


def _saturation(evidence: Evidence) -> dict[str, Found]:
    """Returns the change from 2048 to 3072 KiB, at each file size."""
    return {
        f"{size} MB": change(evidence, "goodput", *({"size_mb": size, "buffer_kib": buffer} for buffer in (2048, 3072)))
        for size in evidence.tried("size_mb")
    }


class DtnBuffers(DtnTransfer):
    """Throughput between two data transfer nodes by file transfer, against socket buffer and file size.

    dtn2 downloads a file from dtn1 by SFTP over 10 Gb/s and a round trip of 30 ms. A receiver offers no larger window
    than its buffer, so a small buffer limits a long path (Equation 2 of the paper: window / round trip). A small file
    ends before the window has grown. Both are compared with the kernel's default: no buffer is set, and the
    kernel sizes it by itself, up to the limits of an untuned system (6 MiB to receive, 4 MiB to send).

      flightpath run dtn_buffers
      flightpath run dtn_buffers --only buffer_kib=4096 --link 1Gbit,50ms
    """

    name = "dtn_buffers"
    summary = "SFTP throughput against socket buffer and file size (paper: netpreflight, experiment 1)"
    repeats = (3, 5)
    axes = (
        Axis("size_mb", (5, 20, 100), (5, 10, 20, 40, 60, 80, 100)),
        Axis(
            "buffer_kib",
            (512, 1024, 2048, LARGEST_KIB, KERNEL_DEFAULT),
            (512, 1024, 2048, 3072, LARGEST_KIB, KERNEL_DEFAULT),
        ),
    )
    figures = Figures(
        fig_buffers=goodput_curves(
            x="buffer_kib",
            by="size_mb",
            x_label="socket buffer (KiB)",
            title="SFTP throughput against socket buffer, by file size (MB)",
        ),
    )
    claims = (
        claim(
            "an increase of the buffer increases the throughput",
            "more with each step, at every file size",
            partial(goodput_steps, along="buffer_kib", at="size_mb"),
            MORE,
        ),
        claim(
            "from 2048 KiB on the buffer has little effect",
            f"within {ABOUT_PERCENT:g} % from 2048 to 3072 KiB, at every file size",
            _saturation,
            ALIKE,
        ),
        claim(
            "an increase of the file size decreases the throughput",
            "less with each step, at every buffer size",
            partial(goodput_steps, along="size_mb", at="buffer_kib"),
            LESS,
        ),
        claim(
            "a buffer set by hand is faster than the kernel's default settings (ours)",
            f"{LARGEST_KIB} KiB faster, at every file size (the paper compares them, and gives no figure)",
            _against_default,
            MORE,
        ),
    )


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnBuffers())
