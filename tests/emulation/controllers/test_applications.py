"""Applications for os-ken and Ryu that users bring, in `mn`: they run as they are, and their errors are shown."""

import shutil

import pytest

from tests.support.mininet_command import mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")

SWITCH = """
from {library}.base import app_manager
from {library}.controller import ofp_event
from {library}.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from {library}.lib.packet import ethernet, packet
from {library}.ofproto import ofproto_v1_3


class OwnSwitch(app_manager.{base}):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, ev):
        path = ev.msg.datapath
        parser, protocol = path.ofproto_parser, path.ofproto
        action = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        apply = parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, [action])
        path.send_msg(parser.OFPFlowMod(datapath=path, priority=0, match=parser.OFPMatch(), instructions=[apply]))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet(self, ev):
        message, path = ev.msg, ev.msg.datapath
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        self.logger.info("a frame of %s on switch %d", frame.src, path.id)
        parser, protocol, port = path.ofproto_parser, path.ofproto, message.match["in_port"]
        flood = parser.OFPActionOutput(protocol.OFPP_FLOOD)
        path.send_msg(parser.OFPPacketOut(path, protocol.OFP_NO_BUFFER, port, [flood], message.data))
"""
MONITOR = """
from ryu.app import own_switch
from ryu.lib import hub


class Monitor(own_switch.OwnSwitch):
    def start(self):
        hub.spawn(self.logger.info, "a thread of its own")
        return super().start()
"""


def look_for(words: str) -> str:
    """Waits for words in the controller's log, and shows it."""
    return f"sh timeout 20 sh -c 'until grep -q \"{words}\" $0; do sleep 0.1; done; cat $0' /run/flightpath/c0.log\n"


def wait_for_rules(switches: int) -> str:
    """Waits until each switch asks its controller what to do: a ping gives up 3 s after the first of its questions."""
    flows = "ovs-ofctl -O OpenFlow13 dump-flows"
    until = f"sh timeout 20 sh -c 'until {flows} $0 | grep -q \"priority=0 actions=CONTROLLER\"; do sleep 0.1; done'"
    return "".join(f"{until} s{number + 1}\n" for number in range(switches))


def test_an_application_and_options_of_the_manager_reach_it_and_it_controls_the_switches(tmp_path):
    application = tmp_path / "own_switch.py"
    application.write_text(SWITCH.format(library="os_ken", base="OSKenApp"))
    words = f"osken,--observe-links,os_ken.topology.switches,{application}"
    script = f"{wait_for_rules(2)}pingall\n{look_for('on switch 2')}"

    done = mn("--topo", "linear,2", "--controller", words, script=script)

    assert "Results: 0% dropped" in done.stdout, done.stdout
    assert " on switch 2" in done.stdout
    assert "instantiating app os_ken.topology.switches of Switches" in done.stdout


def test_a_sample_of_ryus_finds_the_one_that_it_builds_on(tmp_path):
    (tmp_path / "own_switch.py").write_text(SWITCH.format(library="ryu", base="RyuApp"))
    (tmp_path / "monitor.py").write_text(MONITOR)
    script = f"{wait_for_rules(1)}pingall\n{look_for('a thread of its own')}"

    done = mn("--controller", f"ryu,{tmp_path}/monitor.py", script=script)

    assert "Results: 0% dropped" in done.stdout, done.stdout
    assert "a thread of its own" in done.stdout


def test_without_an_application_it_learns_and_goes_on_when_rules_are_deleted():
    ping = f"{wait_for_rules(3)}pingall\n"

    done = mn("--topo", "linear,3", "--controller", "osken", script=f"{ping}dpctl del-flows\n{ping}")

    assert done.stdout.count("Results: 0% dropped") == 2, done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import ryu.app.wsgi\n", "os-ken, which continues Ryu, has no ryu.app.wsgi"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_an_application_that_does_not_load_shows_why(tmp_path, text, message):
    application = tmp_path / "broken.py"
    application.write_text(text)

    done = mn("--controller", f"osken,{application}", "--test", "pingall")

    assert done.returncode == 1
    assert message in done.stdout
    assert "Results" not in done.stdout
