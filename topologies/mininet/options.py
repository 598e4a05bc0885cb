"""The options of the command `mn`: help that names our choices, and checks before anything starts."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from optparse import SUPPRESS_HELP, HelpFormatter, OptionParser, Values
from textwrap import indent
from typing import Any, NoReturn

from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo
from mininet.util import splitArgs

from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.parsers import fill
from flightpath.suggestions import did_you_mean
from topologies.links.emulators import EMULATORS, choose_emulator
from topologies.links.fields import require_known
from topologies.links.spec import link_help
from topologies.mininet import catalogue, congestion_control
from topologies.mininet.network import spec_from_settings
from topologies.mininet.scripts.tc_options import TC_KEYS, link_spec

_CONGESTION_CONTROL = "--congestion-control"
_MIN_ABBREVIATION = "--cong"

_HELP = {
    "--topo": "the network (default minimal)",
    "--link": "the links (default auto)",
    "--switch": "the switches (default auto)",
    "--controller": "the controller (default flightpath)",
    "--host": "the hosts: proc (default); cfs and rt are the same, without limits of processor time",
    "--clean": "does nothing: the kernel removes a sandbox with its last process",
    "--custom": "files that add topologies, switches, hosts, controllers, links and tests (topos = {'mine': MyTopo}), "
    "or define a CLI",
    "--test": "run tests in place of the command line: pingall, pingpair, iperf, iperfudp, all, build, none; several "
    "with +",
    **dict.fromkeys(("--nat", "--innamespace", "--cluster", "--placement"), SUPPRESS_HELP),
}
_CHOICES = """\
--topo NAME[,VALUE...][,PARAMETER=VALUE...]
{networks}
  minimal; single,HOSTS; reversed,HOSTS; linear,SWITCHES[,HOSTS]; tree,DEPTH[,FANOUT]; torus,X,Y

--link NAME[,KEY=VALUE...]
  auto             relay or netem, whichever works here
  relay, netem     the emulators, in user space and of the kernel
  tc, tcu          one of these with the options of Mininet's TCLink
  veth, ovs        emulate nothing

  keys (bw=10 is Mbit/s, every other quantity needs its unit):
{keys}

--switch NAME
  auto, ovs        Open vSwitch, on the kernel's datapath if it has one
  ovsk             on the kernel's datapath
  user             on Open vSwitch's own datapath
  ovsbr, lxbr      a bridge that learns addresses, without a controller

--controller NAME[,PARAMETER=VALUE...]
  flightpath       forwards over shortest paths
  steering         gives each connection and each MPTCP subflow a path: steering,policy=NAME
                   (`flightpath controller --help` lists them)
  osken,app.py     applications for os-ken or Ryu; without one, a switch that learns addresses (also ref, ovsc)
  remote           a controller in the sandbox: remote,ip=127.0.0.1,port=6633
  none             none

--clock CLOCK [--seed N]
  real             of this machine (default)
  virtual          a slow or busy machine gives the same figures (x86-64); with a seed they are the same each time, to
                   the last digit. At a terminal virtual time passes no faster than real time

examples:
  flightpath mn --topo dtn_pair --link relay,bw=10000,delay=15ms --controller steering
  flightpath mn --topo single,3 --link tc,bw=10,delay=5ms --test pingall+iperf
  flightpath mn --custom mine.py --topo mine,hosts=4
  flightpath mn --clock virtual --seed 1 --topo single,2 --link tc,bw=10 --test iperf

exit codes: 0 done, 1 it failed, 2 usage, 3 the machine lacks something, 130 interrupted
"""


class MnOptions(OptionParser):
    """The parser of mn's options; an error is a UsageError."""

    def __init__(self, **_: str) -> None:
        super().__init__(
            prog="flightpath mn",
            usage="%prog [OPTION ...]",
            description="Mininet's command line in a sandbox, with our networks, links, switches and controllers.",
        )
        self.add_option(
            _CONGESTION_CONTROL,
            metavar="NAME",
            help=f"of all hosts (default {congestion_control.DEFAULT}, not this machine's own)",
        )

    @override
    def add_option(self, *words: Any, **settings: Any) -> Any:
        if words[0] in _HELP:
            settings["help"] = _HELP[words[0]]
        return super().add_option(*words, **settings)

    @override
    def format_epilog(self, formatter: HelpFormatter) -> str:
        networks = "\n".join(f"  {name:15}  {catalogue.summary(name)}" for name in catalogue.names())
        choices = _CHOICES.format(networks=networks, keys=indent(link_help(), "    "))
        return f"\n{fill(choices, formatter.width)}\n"

    @override
    def error(self, msg: str) -> NoReturn:
        known = ["--clock", "--seed"]  # taken before they reach this; their misspellings do
        known += [word for option in self.option_list for word in (*option._long_opts, *option._short_opts)]
        _, is_unknown, word = msg.partition("no such option: ")
        raise UsageError(msg, did_you_mean(word, known, "`flightpath mn --help` lists them") if is_unknown else "")

    @override
    def parse_args(self, args: Any = None, values: Any = None) -> tuple[Values, list[str]]:
        options, words = super().parse_args(args, values)
        if words:
            raise UsageError(f"{words[0]!r} belongs to no option", f"for example: --topo {words[0]}")
        return options, words


def congestion_control_in(words: Sequence[str]) -> str | None:
    """Returns the congestion control that a command line chooses; mn parses it only in the sandbox."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, is_one_word, value = word.partition("=")
        if option.startswith(_MIN_ABBREVIATION) and _CONGESTION_CONTROL.startswith(option):
            return (value if is_one_word else following) or None
    return None


def check(options: Values, choices: Mapping[str, Mapping[str, Any]], network: type[Mininet]) -> None:
    """Checks the values of options whose choices are in tables, such as `choices["topos"]`."""
    _check_topology(options.topo, choices["topos"])
    _check_link(options.link, choices["links"])
    _check_node("switch", options.switch, choices["switches"])
    _check_node("host", options.host, choices["hosts"])
    for text in options.controller:
        _check_node("controller", text, choices["controllers"])
    for text in (text for texts in options.test for text in texts.split("+")):
        name = splitArgs(text)[0]
        if name.lower() not in choices["tests"] and not hasattr(network, name):
            raise UsageError(f"--test: {name!r} is unknown", did_you_mean(name, choices["tests"]))


def _chosen(option: str, text: str, choices: Mapping[str, Any]) -> tuple[str, Any, list[Any], dict[str, Any]]:
    """Returns a choice's name, what it stands for, its values, and its parameters."""
    name, values, parameters = splitArgs(text)
    require_known(f"--{option}", name, sorted(choices))
    return name, choices[name], values, parameters


def _check_topology(text: str, choices: Mapping[str, type[Topo]]) -> None:
    name, kind, values, parameters = _chosen("topo", text, choices)
    if not _is_known(kind):
        return
    names = _parameters(kind.build)
    _check_parameters(f"--topo: {name}", parameters, names)
    try:
        kind(*values, **parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"--topo: cannot make {text!r}: {error}", f"its parameters: {', '.join(names)}") from error


def _check_link(text: str, choices: Mapping[str, Any]) -> None:
    name, kind, _, parameters = _chosen("link", text, choices)
    emulator = "auto" if name == "default" else name
    if emulator in EMULATORS:
        choose_emulator(emulator)
        spec_from_settings(parameters)
    elif name in ("tc", "tcu"):
        _check_parameters(f"--link: {name}", parameters, sorted(TC_KEYS))
        link_spec(parameters)
    elif parameters and _is_known(kind):
        raise UsageError(f"--link: {name} emulates nothing, and has no parameters", "choose relay")


def _check_node(option: str, text: str, choices: Mapping[str, type[Node]]) -> None:
    name, kind, _, parameters = _chosen(option, text, choices)
    if _is_known(kind):
        methods = [getattr(each, method, None) for each in kind.__mro__ for method in ("__init__", "config")]
        known = {it for method in methods if method for it in _parameters(method)} - {"name"}
        _check_parameters(f"--{option}: {name}", parameters, sorted(known | {"privateDirs"}))


def _parameters(method: Callable[..., Any]) -> list[str]:
    """Returns the names of a method's parameters, without `*args` and `**params`."""
    parameters = signature(method).parameters.values()
    return [
        it.name for it in parameters if it.kind in (it.POSITIONAL_OR_KEYWORD, it.KEYWORD_ONLY) and it.name != "self"
    ]


def _check_parameters(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for parameter in given:
        if parameter not in known:
            raise UsageError(f"{what} has no parameter {parameter!r}", did_you_mean(parameter, known))


def _is_known(kind: Any) -> bool:
    """Returns whether a class is Mininet's or ours; those of users may take what their signatures do not name."""
    return isinstance(kind, type) and kind.__module__.partition(".")[0] in ("mininet", "topologies")
