"""Axes and settings of scenarios, and the options that change them."""

from argparse import ArgumentParser, Namespace

import pytest

from flightpath.errors import UsageError
from scenarios.framework.plan import Axis, Setting, at_least, comma_separated, link_setting

STREAMS = Axis("streams", (1, 2), (1, 2, 4, 8))
LOSS = Axis("loss", ("0", "0.01%"), option="--loss", help="of packets")
SECONDS = Setting("--seconds", "of each transfer", 4, 10, read=at_least("--seconds", 1))
SIZE = Setting("--file-size", "in MB", 40, name="size_mb")


def parsed(*words: str, form: str = "quick") -> Namespace:
    parser = ArgumentParser()
    parser.set_defaults(form=form)
    for option in (STREAMS, LOSS, SECONDS, SIZE):
        option.add_to(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(("form", "streams", "seconds"), [("quick", (1, 2), 4), ("full", (1, 2, 4, 8), 10)])
def test_each_form_has_its_values_unless_the_user_gives_others(form, streams, seconds):
    options = parsed(form=form)
    assert STREAMS.chosen(options) == streams and LOSS.chosen(options) == ("0", "0.01%")
    assert SECONDS.chosen(options) == ("seconds", seconds) and SIZE.chosen(options) == ("size_mb", 40)
    options = parsed("--loss", "1%, 2%", "--seconds", "7", "--file-size", "0", form=form)
    assert LOSS.chosen(options) == ("1%", "2%")
    assert SECONDS.chosen(options) == ("seconds", 7) and SIZE.chosen(options) == ("size_mb", 0)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match="--seconds: 0 is less than 1"):
        SECONDS.chosen(parsed("--seconds", "0"))
    with pytest.raises(UsageError, match="--seconds: nan"):
        at_least("--seconds", 1)(float("nan"))
    with pytest.raises(UsageError, match="--link"):
        link_setting("100Mbit", "each path").chosen(Namespace(link="100Mbit"))
    assert comma_separated(" cubic,, bbr ") == ("cubic", "bbr")
