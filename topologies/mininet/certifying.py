"""A link as it was measured, beside what was asked for, in a line."""

from flightpath.units import format_bandwidth
from topologies.calibration.records import DELAY_NOISE_MS, RATE_NOISE_SHARE, LinkCalibration


def certified(measured: LinkCalibration) -> tuple[str, bool]:
    """One direction of a link in words, and whether it is what was asked for, within what is noise."""
    ends = measured.link.split(":")
    source, target = ends if measured.direction == "a_to_b" else reversed(ends)
    parts, is_right = [], not measured.unchecked
    if measured.rate_error is not None:
        is_right = is_right and abs(measured.rate_error) <= RATE_NOISE_SHARE + measured.rate_uncertainty
        parts.append(f"{measured.rate_bps / 1e6:.4g} of {format_bandwidth(measured.expected_rate_bps)}")
    if measured.delay_error_ms is not None:
        is_right = is_right and abs(measured.delay_error_ms) <= DELAY_NOISE_MS + measured.delay_uncertainty_ms
        parts.append(f"{measured.delay_ms:.2f} of {measured.expected_delay_ms:g} ms")
    notes = [*measured.unchecked, *measured.not_judged]
    told = f"{source}->{target}: {', '.join(parts) or 'no limits'}{'; ' if notes else ''}{'; '.join(notes)}"
    return f"{told}: {'as asked' if is_right else 'NOT as asked'}", is_right
