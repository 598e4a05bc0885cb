"""Cells, series and claims as data frames of pandas."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from results.recording.file import Recording
from results.recording.journeys import FATES, Journeys
from results.recording.senders import CONGESTION_STATES, NO_THRESHOLD, in_flight, pacing_bps
from results.records import CellResult, Claim, ClaimVerdict, Metric, Verdict
from results.summary.means import metric_names

UNITS = "units"
"""Attribute of a frame (`frame.attrs`) with the unit of each metric or series, by its name."""

_CELL = "cell"


def cells_frame(cells: Sequence[CellResult]) -> pd.DataFrame:
    """Returns a row for each cell, numbered from 1 in the order of measurement.

    Its columns are the parameters; `repetition` (int64); `verdict` (an ordered categorical, from `faithful` to
    `unusable`) and `reasons` (text, of the certificate); then the metrics (float64, NaN where one was not measured),
    each followed by `NAME_low` and `NAME_high` if it has intervals. A metric that has the name of another column is
    called `metric.NAME`. `attrs["units"]` has the unit of each.
    """
    names = list(dict.fromkeys(name for cell in cells for name in cell.cell.parameters))
    columns: dict[str, Any] = {name: [cell.cell.parameters.get(name) for cell in cells] for name in names}
    columns["repetition"] = pd.array([cell.cell.repetition for cell in cells], dtype="int64")
    columns["verdict"] = _categorical((cell.certificate.verdict for cell in cells), Verdict, ordered=True)
    columns["reasons"] = pd.array(["; ".join(cell.certificate.reasons) for cell in cells], dtype="str")
    units: dict[str, str] = {}
    for name in metric_names(cells):
        metrics = [cell.measurement.metrics.get(name) for cell in cells]
        column = f"metric.{name}" if name in columns else name
        units[column] = _unit(metric.unit for metric in metrics if metric)
        columns[column] = _numbers(metrics, lambda metric: metric.value)
        if any(metric and metric.low is not None for metric in metrics):
            columns[f"{column}_low"] = _numbers(metrics, lambda metric: metric.low)
            columns[f"{column}_high"] = _numbers(metrics, lambda metric: metric.high)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(1, len(cells) + 1, name=_CELL))
    frame.attrs[UNITS] = units
    return frame


def series_frame(cells: Sequence[CellResult]) -> pd.DataFrame:
    """Returns a row for each point of each series.

    Its columns are `cell` (int64, a row of `cells_frame`), `name` (text), `time_s` (float64, seconds since the load
    began) and `value` (float64). `attrs["units"]` has the unit of each series.
    """
    all_series = [
        (number, name, series)
        for number, cell in enumerate(cells, start=1)
        for name, series in cell.measurement.series.items()
    ]
    frame = pd.DataFrame(
        {
            _CELL: pd.array([number for number, _, series in all_series for _ in series.values], dtype="int64"),
            "name": pd.array([name for _, name, series in all_series for _ in series.values], dtype="str"),
            "time_s": pd.array([at for _, _, series in all_series for at in series.times_s], dtype="float64"),
            "value": pd.array([value for _, _, series in all_series for value in series.values], dtype="float64"),
        }
    )
    names = dict.fromkeys(name for _, name, _ in all_series)
    frame.attrs[UNITS] = {name: _unit(series.unit for _, each, series in all_series if each == name) for name in names}
    return frame


def packets_frame(recorded: Mapping[int, tuple[Journeys, int]]) -> pd.DataFrame:
    """Returns a row for each packet on each link of each recorded cell, in the order in which they came to a queue.

    Its columns are `cell` (a row of `cells_frame`); `source`, `target` and `flow` (categoricals: the nodes of the link,
    and the flow's ends); `connection` and `subflow` (numbers); `time_s` (when it came to the queue, seconds since the
    recording began), `sent_s` (when its last bit was on the link), `arrived_s` (NaN: never); `fate` (a categorical);
    `bytes` with all headers, `payload`, `seq`, `ack`, `flags` (as in the header), `ecn`, `arrived_ecn`, `window`, `id`.

    Args:
        recorded: journeys and the start of the recording (ns) by the numbers of cells.
    """
    frames = [_packets_of_cell(number, found, began) for number, (found, began) in recorded.items()]
    joined = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[_CELL])
    for name in ("source", "target", "flow"):  # cells may have different ones
        if name in joined:
            joined[name] = joined[name].astype("category")
    return joined


def _packets_of_cell(number: int, found: Journeys, began_ns: int) -> pd.DataFrame:
    packets, flows = found.packets, [*found.flows, None]
    flow = packets["flow"].clip(max=len(found.flows))
    nodes = {side: [getattr(each, side) for each in found.directions] for side in ("source", "target")}
    columns: dict[str, Any] = {_CELL: number}
    columns |= {side: pd.Series(names)[packets["point"]].to_numpy() for side, names in nodes.items()}
    columns["flow"] = pd.Series([each.name if each else "others" for each in flows])[flow].to_numpy()
    for name in ("connection", "subflow"):
        columns[name] = pd.Series([getattr(each, name) if each else -1 for each in flows])[flow].to_numpy()
    for name, column in (("time_s", "time"), ("sent_s", "sent"), ("arrived_s", "arrived")):
        columns[name] = pd.Series((packets[column] - began_ns) / 1e9).where(packets[column] >= 0).to_numpy()
    columns["fate"] = pd.Categorical.from_codes(packets["fate"], list(FATES))
    copied = ("bytes", "payload", "seq", "ack", "flags", "ecn", "arrived_ecn", "window", "id")
    return pd.DataFrame(columns | {name: packets[name] for name in copied})


def connections_frame(recorded: Mapping[int, tuple[Recording, Journeys]]) -> pd.DataFrame:
    """Returns a row for each sampled state of each connection's sender in each recorded cell, if it had changed.

    Its columns are `cell`, `flow`, `connection`, `subflow` and `time_s` as in `packets_frame`; `state` (a categorical,
    of its congestion control); `cwnd`, `ssthresh` (NaN: none yet) and `in_flight` in packets; `rtt_ms`, `rttvar_ms`;
    `pacing_bps` (NaN: not paced); `mss` in bytes; `lost` and `total_retransmitted` in packets; `backoff`.

    Args:
        recorded: recordings and the journeys in them by the numbers of cells.
    """
    frames = [_connections_of_cell(number, *each) for number, each in recorded.items()]
    joined = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[_CELL])
    if "flow" in joined:
        joined["flow"] = joined["flow"].astype("category")
    return joined


def _connections_of_cell(number: int, recording: Recording, found: Journeys) -> pd.DataFrame:
    rows, flows = recording.sockets, found.flows
    rows = rows[(rows["flow"] < len(flows)) & (rows["time_ns"] >= int(recording.description["began_ns"]))]
    rows = rows[np.argsort(rows["time_ns"], kind="stable")]
    columns: dict[str, Any] = {_CELL: number, "flow": [flows[each].name for each in rows["flow"]]}
    for name in ("connection", "subflow"):
        columns[name] = [getattr(flows[each], name) for each in rows["flow"]]
    columns["time_s"] = (rows["time_ns"] - int(recording.description["began_ns"])) / 1e9
    columns["state"] = pd.Categorical.from_codes(rows["congestion_state"], list(CONGESTION_STATES))
    columns |= {"cwnd": rows["cwnd"], "ssthresh": np.where(rows["ssthresh"] < NO_THRESHOLD, rows["ssthresh"], np.nan)}
    columns["in_flight"] = in_flight(rows)
    columns |= {"rtt_ms": rows["rtt_us"] / 1e3, "rttvar_ms": rows["rttvar_us"] / 1e3, "pacing_bps": pacing_bps(rows)}
    return pd.DataFrame(columns | {name: rows[name] for name in ("mss", "lost", "total_retransmitted", "backoff")})


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """Returns a row for each claim: `claim`, `paper`, `measured`, `why` (texts) and `verdict` (a categorical)."""
    texts = {name: [getattr(claim, name) for claim in claims] for name in ("claim", "paper", "measured", "why")}
    columns: dict[str, Any] = {name: pd.array(values, dtype="str") for name, values in texts.items()}
    columns["verdict"] = _categorical((claim.verdict for claim in claims), ClaimVerdict)
    return pd.DataFrame(columns)[["claim", "paper", "measured", "verdict", "why"]]


def _categorical(values: Iterable[str], kind: Iterable[str], *, ordered: bool = False) -> pd.Categorical:
    return pd.Categorical([str(value) for value in values], [str(value) for value in kind], ordered=ordered)


def _numbers(metrics: Sequence[Metric | None], read: Callable[[Metric], float | None]) -> Any:
    numbers = [read(metric) if metric else None for metric in metrics]
    return pd.array([float("nan") if number is None else number for number in numbers], dtype="float64")


def _unit(units: Iterable[str]) -> str:
    """Returns the unit of a name; imported runs may have several."""
    return " or ".join(dict.fromkeys(units))


def links_frame(directions: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Returns a row for each direction of each link.

    Its columns are `link` (the two interfaces), `source`, `target`, `emulator`; as specified `bandwidth_bps` (float64,
    NaN: unlimited), `delay_ms`, `jitter_ms`, `loss_percent` (float64), `queue` and `specification` (texts); and since
    the start `carried_packets`, `carried_bytes` and `dropped_packets` (Int64, NA where the emulator does not know).
    """
    frame = pd.DataFrame(list(directions))
    for name in ("bandwidth_bps", "delay_ms", "jitter_ms", "loss_percent"):
        frame[name] = frame[name].astype("float64")
    for name in ("carried_packets", "carried_bytes", "dropped_packets"):
        frame[name] = frame[name].astype("Int64")
    return frame
