"""The made-up run that the other tests of results stand on."""

from tests.support.made_up_runs import LOADS, REQUESTS, SESSION_S, like_the_paper


def test_the_synthetic_run_has_the_shape_of_the_papers():
    cells = like_the_paper()
    assert len(cells) == 7 * 2 * 3
    slow = [c.measurement.metrics["run_time"].value for c in cells if c.cell.parameters["protocol"] == "tcp"]
    assert min(slow) > REQUESTS / LOADS[-1] + SESSION_S
