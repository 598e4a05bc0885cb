"""Numbers as text: readable units, and few digits."""

from collections.abc import Iterable, Mapping

from results.records import ParameterValue


def scale(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Returns the factor to a readable unit, and that unit."""
    largest = max((abs(value) for value in values), default=0.0)
    if unit in ("bit/s", "B"):
        for factor, prefix in ((1e-9, "G"), (1e-6, "M"), (1e-3, "k")):
            if largest * factor >= 1:
                return factor, f"{prefix}{unit}"
    return 1.0, "count" if unit == "1" else unit


def short(value: float) -> str:
    """Returns a number with four digits, or without decimals from 1000 on."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parameter_text(value: ParameterValue) -> str:
    """Returns a parameter, as a number with six digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def parameters_text(parameters: Mapping[str, ParameterValue]) -> str:
    """Returns parameters by name: `protocol=mptcp load=800`."""
    return " ".join(f"{name}={parameter_text(value)}" for name, value in parameters.items())


def interval_text(value: float, low: float | None, high: float | None, factor: float) -> str:
    """Returns a value with its interval, if it has one: `12.5 (12 to 13)`."""
    text = short(value * factor)
    return text if low is None or high is None else f"{text} ({short(low * factor)} to {short(high * factor)})"
