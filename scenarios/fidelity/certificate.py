"""The certificate of a cell: without it every reader of a figure would have to judge the machine anew."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from results.records import Certificate, Series, Verdict
from scenarios.fidelity.calibration import judge_calibration
from scenarios.fidelity.connections import judge_congestion_control
from scenarios.fidelity.links import Asked, judge_links
from scenarios.fidelity.processor import judge_processor
from topologies.calibration.records import Calibration, LinkCalibration


def certify(
    *,
    found: Mapping[str, Any],
    idle: Series,
    steal: Series,
    links: Mapping[str, Any],
    calibration: Calibration,
    asked_drops: Asked,
    congestion_control: Mapping[str, Mapping[str, int]],
    asked_congestion_control: str | None,
) -> Certificate:
    """Judges all, and keeps the facts beside the verdict.

    Args:
        found: the testbed as it was.
        idle, steal: processor time per second during the load, in %.
        links: `probes.counters.links.summary` after it.
        calibration: each link and path before it.
        asked_drops: for which causes each link was asked to drop packets.
        congestion_control: per host, how many connections used which algorithm during it.
        asked_congestion_control: the algorithm that all of them should have used; None if none was asked for.
    """
    findings = [
        *judge_processor(idle.values, steal.values),
        *judge_calibration(calibration),
        *judge_links(links, asked_drops),
        *judge_congestion_control(congestion_control, asked_congestion_control),
    ]
    facts = {
        **found,
        "idle_cpu_percent": list(idle.values),
        "steal_percent": list(steal.values),
        "links_before_load": [_link_facts(link) for link in calibration.links],
        "paths_before_load": [vars(path) for path in calibration.paths],
        "links_during_load": links,
        "congestion_control": {host: dict(counts) for host, counts in congestion_control.items()},
    }
    return Certificate(Verdict.worst([verdict for verdict, _ in findings]), tuple(why for _, why in findings), facts)


def _link_facts(link: LinkCalibration) -> dict[str, Any]:
    facts = dataclasses.asdict(link)
    return {**facts, "not_judged": list(link.not_judged), "unchecked": list(link.unchecked)}
