"""Choice of an emulator: the requested one, or the relay before netem."""

from functools import partial

import pytest

from flightpath.errors import MissingCapability, UsageError
from topologies.links.emulators import choose_emulator, link_class


def lacking(what: str, *_: object) -> None:
    raise MissingCapability(f"no {what}", f"as root: get {what}")


@pytest.fixture
def machine(monkeypatch):
    """A machine on which only the named emulators work."""

    def have(*works: str) -> None:
        for name in ("relay", "netem"):
            require = (lambda *_: None) if name in works else partial(lacking, name)
            monkeypatch.setattr(link_class(name), "require", require)

    return have


@pytest.mark.parametrize(
    ("works", "requested", "chosen"),
    [
        (("relay", "netem"), "auto", "relay"),
        (("netem",), "auto", "netem"),
        (("relay",), "auto", "relay"),
        (("relay", "netem"), "netem", "netem"),
        (("relay", "netem"), "relay", "relay"),
    ],
)
def test_the_one_asked_for_or_the_first_that_works(machine, works, requested, chosen):
    machine(*works)
    assert choose_emulator(requested) == chosen
    assert link_class(chosen).emulator == chosen


@pytest.mark.parametrize(("works", "requested", "missing"), [(("relay",), "netem", "netem"), ((), "auto", "relay")])
def test_what_does_not_work_says_how_to_get_it(machine, works, requested, missing):
    machine(*works)
    with pytest.raises(MissingCapability, match=f"no {missing}\n  as root: get {missing}"):
        choose_emulator(requested)


def test_an_unknown_one_is_refused_with_those_known():
    with pytest.raises(UsageError, match=r"'netm' is unknown\n.*auto, relay, netem"):
        choose_emulator("netm")


@pytest.mark.parametrize("discipline", ["pie", "dualpi2"])
def test_a_queue_that_only_the_kernel_has_is_not_the_relay_s(discipline):
    with pytest.raises(MissingCapability, match=rf"the relay has no queue discipline {discipline}\n.*--clock virtual"):
        choose_emulator("relay", {discipline})
