"""The factors besides protocol and load, and the network and services of a cell."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from controllers.subflows.policies import POLICIES
from experiments.parameters import Factor, one_of, option_name
from experiments.plan import Plan
from experiments.policy import NO_POLICY, controller_policy
from flightpath.errors import UsageError
from flightpath.units import parse_bytes
from results.records import Cell
from services.exam.weight import PAGE_BYTES, least_page_bytes
from topologies.fabric import Fabric
from topologies.hosts import mptcp_schedulers
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import require_known
from topologies.links.spec import LinkSpec
from topologies.links.texts import whole
from topologies.testbed.testbed import Testbed
from topologies.web_service import CLIENT, DATABASE, MANAGEMENT_PORT, MAX_CLIENTS, PLANES, WEB, WebService, client_names

KERNEL_SIZED = "auto"
_SECOND_PATH: Mapping[str, tuple[str, ...]] = {"used": ("signal",), "backup": ("signal", "backup"), "unused": ()}
"""Flags with which servers announce their addresses, for each use of MPTCP's second path."""

_KERNEL = "kernel"
_MPTCP_SYSCTLS = ("scheduler", "path_manager", "stale_loss_cnt", "close_timeout", "add_addr_timeout")
"""Factors that are sysctls of MPTCP."""

_MPTCP = Path("/proc/sys/net/mptcp")
_HOSTS = (CLIENT, WEB, DATABASE)


def _one_of(option: str, *values: str) -> dict[str, Any]:
    """Returns the arguments of a factor that has one of these values; the first is the default."""
    check = one_of(option, values)
    return {"option": option, "default": values[0], "check": check, "metavar": "|".join(values)}


def _of_planes(field: str, what: str, default: str) -> Factor:
    """Returns a factor of the links, with one value for both planes or one for each."""

    def check(text: str) -> None:
        _by_plane(field, text)
        for value in text.split(","):
            LinkSpec.parse(**{field: value})

    return Factor(f"--{field}", f"{what} of each link, per plane", default, "A[,B]", check, has_commas=True)


def _page_bytes(text: str) -> int:
    size = parse_bytes(text if text.lower().endswith("b") else f"{text}B", "--page-weight")
    if size < least_page_bytes():
        raise UsageError(f"--page-weight: a page has at least {least_page_bytes()} bytes, not {text}")
    return size


def _offered(option: str, default: str) -> dict[str, Any]:
    """Returns the arguments of a factor whose values the kernel names in a sysctl `available_…s`."""
    file = _MPTCP / f"available_{option_name(option)}s"

    def check(text: str) -> None:
        here = file.read_text().split() if file.exists() else []
        require_known(option, text, sorted({default, *here}))

    return {"option": option, "default": default, "check": check}


def _of_mptcp(option: str, what: str) -> Factor:
    """Returns a factor that is a sysctl with a whole number."""

    def check(text: str) -> None:
        if text != _KERNEL:
            whole(option, text, 0, 2**31 - 1)

    words = f"net.mptcp.{option_name(option)}: {what}; kernel: as the kernel has it"
    return Factor(option, words, _KERNEL, check=check)


def _buffer_bytes(text: str) -> int | None:
    return None if text == KERNEL_SIZED else parse_bytes(text, "--receive-buffer")


FACTORS = (
    _of_planes("bandwidth", "bandwidth", "50Mbit"),
    _of_planes("delay", "one-way delay", "0"),
    _of_planes("loss", "loss", "0"),
    _of_planes("queue", "queue (1000p, 150kB, 20ms, 1bdp)", "1000p"),
    Factor("--congestion-control", "congestion control of all hosts", "cubic"),
    Factor(
        "--page-weight", "mean bytes from server to student per request, with all headers", "11k", check=_page_bytes
    ),
    Factor(
        help="whether nginx waits for a whole page before it sends",
        **_one_of("--buffering", "off", "on"),
    ),
    Factor(
        help="use of MPTCP's second path: used, a backup for the first, or unused",
        **_one_of("--second-path", *_SECOND_PATH),
    ),
    Factor(
        "--scheduler",
        f"MPTCP's packet scheduler; in virtual time also {', '.join(mptcp_schedulers.RESEARCH)}",
        mptcp_schedulers.DEFAULT,
        check=partial(mptcp_schedulers.check, "--scheduler"),
    ),
    Factor(
        help="who opens subflows: the kernel, or a program, of which there is none (net.mptcp.available_path_managers)",
        **_offered("--path-manager", _KERNEL),
    ),
    _of_mptcp("--stale-loss-cnt", "timeouts in a row after which a subflow is not used"),
    _of_mptcp("--close-timeout", "seconds for which a connection without subflows waits for one"),
    _of_mptcp("--add-addr-timeout", "seconds after which an address is announced again"),
    Factor(
        "--receive-buffer", "buffer of each connection; auto: the kernel sizes it", KERNEL_SIZED, check=_buffer_bytes
    ),
    Factor(
        "--clients",
        "hosts that make the load, with JMeter's remote mode if there are several",
        "1",
        check=lambda text: client_names(whole("--clients", text, 1, MAX_CLIENTS)),
    ),
    Factor(
        help="two planes of one switch each, or edge switches joined by two core switches",
        **_one_of("--topology", "planes", "fabric"),
    ),
    Factor(
        help="controller's policy for connections and subflows in the fabric; none: addresses decide",
        **_one_of("--policy", NO_POLICY, *POLICIES),
    ),
)
"""Factors of the experiment: with one value a setting of the plan, with several an axis."""


class SetUp:
    """The network and the services of a cell.

    Attributes:
        is_mptcp: whether it is a cell of MPTCP.
    """

    def __init__(self, cell: Cell, plan: Plan) -> None:
        self.is_mptcp = cell.parameters["protocol"] == "mptcp"
        defaults = {factor.name: factor.default for factor in FACTORS}  # plans of earlier versions lack some of them
        self._values = {**defaults, **plan.settings, **cell.parameters}
        self._scale = plan.scale

    def check(self) -> None:
        """Checks that the factors do not contradict each other; raises UsageError if they do."""
        if self.policy is not None and not self._is_fabric:
            raise UsageError(
                "--policy: separate planes leave the controller no choice of paths", "add --topology fabric"
            )
        if self._is_fabric and len(self.clients) > 1:
            raise UsageError("--clients: the fabric has only one client", "leave out --topology fabric")

    @property
    def schedulers(self) -> tuple[str, ...]:
        """The packet schedulers that the kernel must have."""
        return (self._values["scheduler"],) if self.is_mptcp else ()

    @property
    def policy(self) -> str | None:
        """The controller's policy; None without a controller."""
        return controller_policy(self._values["policy"])

    @property
    def clients(self) -> list[str]:
        """The hosts that make the load."""
        return client_names(int(self._values["clients"]))

    @property
    def service_options(self) -> Mapping[str, Any]:
        """Arguments for the ExamService."""
        return {
            "mptcp": self.is_mptcp,
            "page_bytes": _page_bytes(self._values["page_weight"]),
            "buffering": self._values["buffering"] == "on",
        }

    @property
    def paths_expected(self) -> int | None:
        """Number of paths that must carry the load; None if only the measurement can tell."""
        if self.policy is not None or self._values["second_path"] == "backup":
            return None
        if not self.joins_expected:
            return 1
        # MPTCP chooses a path for each write, and a write on an idle connection takes the first.
        sends_whole_pages = self._values["buffering"] == "on" or _page_bytes(self._values["page_weight"]) < PAGE_BYTES
        return None if sends_whole_pages else len(PLANES)

    @property
    def joins_expected(self) -> bool:
        """Whether subflows must join MPTCP's connections."""
        opens_subflows = self._values["second_path"] != "unused" and self._values["path_manager"] == _KERNEL
        return self.is_mptcp and opens_subflows

    @property
    def _sysctls(self) -> Mapping[str, str]:
        values = {name: self._values[name] for name in _MPTCP_SYSCTLS if self._values[name] != _KERNEL}
        return {f"net.mptcp.{name}": value for name, value in values.items()} if self.is_mptcp else {}

    def planes(self) -> list[LinkSpec]:
        """Returns the link of each plane, at the scale of the run."""
        fields = {field: _by_plane(field, self._values[field]) for field in ("bandwidth", "delay", "loss", "queue")}
        of_planes = [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]
        return [LinkSpec.parse(**texts).scaled(self._scale) for texts in of_planes]

    def topology(self) -> WebService | Fabric:
        """Builds the network."""
        common = {
            "mptcp": self.is_mptcp,
            "announce": _SECOND_PATH[self._values["second_path"]],
            "congestion_control": self._values["congestion_control"],
            "settings": {
                "receive_buffer_bytes": _buffer_bytes(self._values["receive_buffer"]),
                "sysctls": self._sysctls,
            },
        }
        if self._is_fabric:
            # Each host on an edge of its own, so that both pairs of hosts talk over the paths.
            return Fabric(edges=3, hosts=1, cores=len(PLANES), links=self.planes(), clients=2, **common)
        return WebService(planes=self.planes(), clients=len(self.clients), **common)

    def link_names(self, testbed: Testbed) -> Mapping[str, EmulatedLink]:
        """Names the links: `h1_a` joins H1 and plane a; in the fabric, `h1_cable_a` joins H1 and its edge switch."""
        hosts = (*_HOSTS, *self.clients[1:])
        own = {(host, plane): testbed.link(host, port) for host in hosts for port, plane in enumerate(PLANES)}
        if len(self.clients) > 1:
            own |= {(client, "management"): testbed.link(client, MANAGEMENT_PORT) for client in self.clients}
        if not self._is_fabric:
            return {f"{host}_{plane}": link for (host, plane), link in own.items()}
        by_ends = {(link.intf1.node.name, link.intf2.node.name): link for link in testbed.links}
        return {
            **{f"{host}_cable_{plane}": link for (host, plane), link in own.items()},
            **{
                f"{host}_{plane}": by_ends[f"edge{edge}", f"core{core}"]
                for edge, host in enumerate(_HOSTS, start=1)
                for core, plane in enumerate(PLANES, start=1)
            },
        }

    @property
    def _is_fabric(self) -> bool:
        return self._values["topology"] == "fabric"


def _by_plane(field: str, text: str) -> list[str]:
    values = text.split(",")
    if len(values) not in (1, len(PLANES)):
        counts = f"{len(values)} values for {len(PLANES)} planes"
        raise UsageError(f"--{field}: {counts}", "give one value, or one per plane")
    return values * (len(PLANES) if len(values) == 1 else 1)
