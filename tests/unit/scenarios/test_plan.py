"""Plans, their axes and settings, and the options that change them."""

from collections import Counter

import pytest

from experiments.parameters import Axis, PlanRequest, Setting, at_least, comma_separated, link_setting
from experiments.plan import Plan, restrictions
from flightpath.errors import UsageError

AXES = {"protocol": ("tcp", "mptcp"), "load": (500, 800)}
STREAMS = Axis("streams", (1, 2), (1, 2, 4, 8))
LOSS = Axis("loss", ("0", "0.01%"), option="--loss", help="of packets")
SECONDS = Setting("--seconds", "of each transfer", 4, 10, read=at_least("--seconds", 1))
SIZE = Setting("--file-size", "in MB", 40, name="size_mb")


def test_every_point_is_measured_as_often_as_asked_in_blocks():
    cells = Plan("quick", AXES, repeat=3).cells()
    assert Counter(cell.repetition for cell in cells) == {1: 4, 2: 4, 3: 4}
    assert [cell.repetition for cell in cells] == sorted(cell.repetition for cell in cells)
    assert len({cell.label for cell in cells}) == 12


def test_the_order_comes_from_the_seed():
    orders = {tuple(cell.label for cell in Plan("quick", AXES, repeat=2, seed=seed).cells()) for seed in range(20)}
    assert len(orders) > 5
    assert Plan("quick", AXES, seed=3).cells() == Plan("quick", AXES, seed=3).cells()


def test_only_keeps_what_is_named():
    cells = Plan("quick", AXES, only=restrictions(["protocol=mptcp", "load=800"])).cells()
    assert [cell.parameters for cell in cells] == [{"protocol": "mptcp", "load": 800}]


@pytest.mark.parametrize("pair", ["protocol", "=tcp", "protocol=", "speed=1", "load=799"])
def test_only_refuses_what_it_does_not_know(pair):
    with pytest.raises(UsageError, match="--only"):
        Plan("quick", AXES, only=restrictions([pair]))


def requested(form: str = "quick", **options: object) -> PlanRequest:
    return PlanRequest(form, options)


@pytest.mark.parametrize(("form", "streams", "seconds"), [("quick", (1, 2), 4), ("full", (1, 2, 4, 8), 10)])
def test_each_form_has_its_values_unless_the_user_gives_others(form, streams, seconds):
    request = requested(form)
    assert STREAMS.chosen(request) == streams and LOSS.chosen(request) == ("0", "0.01%")
    assert SECONDS.chosen(request) == ("seconds", seconds) and SIZE.chosen(request) == ("size_mb", 40)
    request = requested(form, loss="1%, 2%", seconds=7, file_size=0)
    assert LOSS.chosen(request) == ("1%", "2%")
    assert SECONDS.chosen(request) == ("seconds", 7) and SIZE.chosen(request) == ("size_mb", 0)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match="--seconds: 0 is less than 1"):
        SECONDS.chosen(requested(seconds=0))
    with pytest.raises(UsageError, match="--seconds: nan"):
        at_least("--seconds", 1)(float("nan"))
    with pytest.raises(UsageError, match="--link"):
        link_setting("100Mbit", "each path").chosen(requested(link="100Mbit"))
    assert comma_separated(" cubic,, bbr ") == ("cubic", "bbr")
