"""The certificate of a cell: the verdict on its testbed, the reasons, and the facts behind them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from results.records import Certificate, Series, Verdict
from scenarios.fidelity.calibration import judge_calibration
from scenarios.fidelity.connections import judge_congestion_control
from scenarios.fidelity.findings import Finding
from scenarios.fidelity.links import DropCauses, judge_links
from scenarios.fidelity.processor import judge_processor
from topologies.calibration.records import Calibration, LinkCalibration


def certify(
    *,
    facts: Mapping[str, Any],
    idle: Series,
    steal: Series,
    links: Mapping[str, Any],
    calibration: Calibration,
    expected_drops: DropCauses,
    congestion_control: Mapping[str, Mapping[str, int]],
    expected_congestion_control: str | None,
    reasons_unusable: Sequence[str] = (),
) -> Certificate:
    """Judges a testbed.

    Args:
        facts: further facts to keep, such as the testbed's emulator and datapath.
        idle, steal: processor time per second during the load, in %.
        links: `probes.counters.links.summary` after the load.
        calibration: what each link and path measured before the load.
        expected_drops: for which causes each link may drop packets.
        congestion_control: per host, how many connections used which algorithm during the load.
        expected_congestion_control: the algorithm for all connections; None if any may be used.
        reasons_unusable: why the measurement is unusable whatever the testbed did.
    """
    findings = [
        *(Finding(Verdict.UNUSABLE, reason) for reason in reasons_unusable),
        *judge_processor(idle.values, steal.values),
        *judge_calibration(calibration),
        *judge_links(links, expected_drops),
        *judge_congestion_control(congestion_control, expected_congestion_control),
    ]
    all_facts = {
        **facts,
        "idle_cpu_percent": list(idle.values),
        "steal_percent": list(steal.values),
        "links_before_load": [_link_facts(link) for link in calibration.links],
        "paths_before_load": [vars(path) for path in calibration.paths],
        "links_during_load": links,
        "congestion_control": {host: dict(counts) for host, counts in congestion_control.items()},
    }
    verdict = Verdict.worst([finding.verdict for finding in findings])
    return Certificate(verdict, tuple(finding.reason for finding in findings), all_facts)


def _link_facts(link: LinkCalibration) -> dict[str, Any]:
    facts = dataclasses.asdict(link)
    return {**facts, "not_judged": list(link.not_judged), "unchecked": list(link.unchecked)}
