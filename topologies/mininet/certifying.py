"""One line per direction of a link: measured values against the specification."""

from flightpath.units import format_bandwidth
from topologies.calibration.records import DELAY_NOISE_MS, RATE_NOISE_SHARE, LinkCalibration


def certified(measured: LinkCalibration) -> tuple[str, bool]:
    """Describes one direction of a link, and returns whether it matches its specification apart from noise."""
    ends = measured.link.split(":")
    source, target = ends if measured.direction == "a_to_b" else reversed(ends)
    parts, is_right = [], not measured.unchecked
    rate_bps, expected_bps = measured.rate_bps, measured.expected_rate_bps
    if rate_bps is not None and expected_bps:
        error = rate_bps / expected_bps - 1
        is_right = is_right and abs(error) <= RATE_NOISE_SHARE + measured.rate_uncertainty
        parts.append(f"{rate_bps / 1e6:.4g} of {format_bandwidth(expected_bps)}")
    if measured.delay_error_ms is not None:
        is_right = is_right and abs(measured.delay_error_ms) <= DELAY_NOISE_MS + measured.delay_uncertainty_ms
        parts.append(f"{measured.delay_ms:.2f} of {measured.expected_delay_ms:g} ms")
    notes = [*measured.unchecked, *measured.not_judged]
    line = f"{source}->{target}: {', '.join(parts) or 'no limits'}{'; ' if notes else ''}{'; '.join(notes)}"
    return f"{line}: {'as asked' if is_right else 'NOT as asked'}", is_right
