"""What is loaded before it is needed: on a slow machine it is most of the time that a network takes to start."""

import subprocess
import sys

import pytest

from flightpath.lazy_import import lazy_import
from flightpath.project import PROJECT


def loaded_by(code: str) -> set[str]:
    """Names of the modules that a new Python has loaded after the code."""
    tell = "import sys; print(*(name for name, it in sys.modules.items() if type(it).__name__ != '_LazyModule'))"
    asked = [sys.executable, "-c", f"{code}\n{tell}"]
    return set(subprocess.run(asked, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split())


def test_a_controller_that_only_forwards_loads_neither_graphs_nor_what_it_never_uses_of_os_ken():
    loaded = loaded_by("import controllers.__main__, controllers.forwarding.forwarding")
    assert "os_ken.ofproto.ofproto_v1_3_parser" in loaded
    for heavy in ("networkx", "os_ken.lib.packet.bgp", "os_ken.ofproto.ofproto_v1_5_parser", "http.server", "asyncio"):
        assert heavy not in loaded, f"{heavy} is loaded, and the start of each network waits for it"


def test_what_the_controller_did_without_can_be_loaded_afterwards():
    code = "import controllers.openflow.library\n"
    code += "from os_ken.lib.packet import packet, ethernet; from eventlet import wsgi\n"
    loaded = loaded_by(code + "assert packet.Packet(protocols=[ethernet.ethernet()]).protocols and wsgi.server")
    assert {"os_ken.lib.packet.packet", "eventlet.wsgi"} <= loaded


def test_a_module_is_loaded_with_its_first_use():
    code = "from flightpath.lazy_import import lazy_import; found = lazy_import('colorsys')\n"
    assert "colorsys" not in loaded_by(code)
    assert "colorsys" in loaded_by(code + "assert found.rgb_to_hsv(0, 0, 0) == (0, 0, 0)")
    assert lazy_import("sys") is sys


def test_a_module_that_is_not_installed_is_missed_at_once():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        lazy_import("no_such_module")
