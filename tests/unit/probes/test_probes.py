"""Every probe has the shape that `probes.probe` describes."""

import dataclasses
import importlib
import inspect
import pkgutil
import typing

import pytest

import probes
from probes.probe import Probe
from results.records import Measurement

PROGRAMS = ("probes.transfers.programs.",)


def modules() -> list[str]:
    """All modules of the floor, but those of preflight itself, and programs that run in hosts."""
    names = [module.name for module in pkgutil.walk_packages(probes.__path__, "probes.") if not module.ispkg]
    return [name for name in names if not name.startswith(("probes.preflight.", *PROGRAMS))]


def kinds() -> list[type]:
    for name in modules():
        importlib.import_module(name)
    return sorted(Probe.__subclasses__(), key=lambda kind: kind.__name__)


def test_every_probe_is_found():
    names = {"FtpDownload", "Iperf3", "JMeterLoad", "SftpTransfer", "Stream", "TcpFlow"}
    assert {kind.__name__ for kind in kinds()} >= names
    transfers = {kind.__module__ for kind in kinds() if kind.__module__.startswith("probes.transfers.")}
    assert transfers == {name for name in modules() if name.startswith("probes.transfers.")}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_a_probe_is_a_frozen_specification_whose_run_has_a_measurement(kind):
    assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
    parameters = list(inspect.signature(kind.run).parameters.values())
    assert [parameter.name for parameter in parameters[:3]] == ["self", "host", "address"]
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters[3:])
    assert "watch" in [parameter.name for parameter in parameters[3:]]
    returned = typing.get_type_hints(kind.run)["return"]
    if returned is not Measurement:
        assert typing.get_type_hints(returned.measurement)["return"] is Measurement
