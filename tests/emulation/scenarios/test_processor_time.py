"""Processor time is that of sender, receiver and links: figures of the machine, which only the real clock has."""

import pytest

from tests.support.scenario_runs import measured_cells


def test_processor_time_is_told_apart(tmp_path):
    only = [word for name in ("baseline4", "tun4_path6") for word in ("--only", f"configuration={name}")]
    shape = ("--link", "20Mbit,1ms,100p", "--seconds", "2", "--size", "2", "--only", "paths=1", "--clock", "real")
    for cell in measured_cells("multipath_10gbe", tmp_path, *only, *shape):
        metrics = {name: metric["value"] for name, metric in cell["metrics"].items()}
        assert (metrics["cpu_tunnel"] > 0) == (cell["parameters"]["configuration"] != "baseline4")
        total = sum(metrics[name] for name in ("cpu_sender", "cpu_receiver", "cpu_links"))
        assert total == pytest.approx(metrics["cpu_total"])
        assert metrics["cpu_links"] > 0
