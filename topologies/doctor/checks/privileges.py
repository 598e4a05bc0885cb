"""Checks of this user's privileges, as opposed to features of the kernel."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from flightpath.command_line import INTERRUPTED
from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability
from topologies.doctor.check import COMMAND_TIMEOUT_S, Area, Check, Finding, message_of, missing, ok, register, unknown
from topologies.sandbox import sandbox

_privilege_check = partial(register, Area.PRIVILEGES)
TUN = Path("/dev/net/tun")
_NOBODY = 65534
_SETTINGS = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),  # Ubuntu 24.04
    "kernel.unprivileged_userns_clone": ("0", "1"),  # Debian's own
    "user.max_user_namespaces": ("0", "10000"),
}
"""Sysctls that can forbid user namespaces, each with a value that forbids them and one that allows them."""

_RUN_AS_ROOT = (
    "run it as root (sudo); in a container, where Docker's seccomp and AppArmor profiles forbid namespaces and mounts: "
    "docker run --privileged"
)


def sandbox_check(body: Callable[[], int]) -> Check:
    """Returns the check that makes a sandbox and runs `body`, the checks that need one, in it."""
    costs = "No experiment can run: each needs namespaces of its own."
    return Check(Area.PRIVILEGES, "sandbox", partial(_probe_sandbox, body), costs, _RUN_AS_ROOT, required=True)


def namespace_remedy(settings: Mapping[str, str]) -> str:
    """Returns the command that lets ordinary users make namespaces, given the existing sysctls."""
    forbidding = [name for name, (forbids, _) in _SETTINGS.items() if settings.get(name) == forbids]
    if not forbidding:
        return _RUN_AS_ROOT
    return "sudo sysctl -w " + " ".join(f"{name}={_SETTINGS[name][1]}" for name in forbidding)


def _remedy_in_force() -> str:
    paths = {name: Path("/proc/sys", *name.split(".", 1)) for name in _SETTINGS}
    return namespace_remedy({name: it.read_text(encoding="ascii").strip() for name, it in paths.items() if it.exists()})


def _probe_sandbox(body: Callable[[], int]) -> Finding:
    try:
        code = sandbox.run_inside(body)
    except MissingCapability as error:
        return missing(error.args[0], _RUN_AS_ROOT if os.geteuid() == 0 else _remedy_in_force())
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code != 0:
        return unknown(f"a sandbox can be made, but the checks in it ended with exit code {code}")
    return ok("as root" if os.geteuid() == 0 else "as an ordinary user, in a user namespace")


@_privilege_check(
    "user namespaces",
    costs="Experiments need root. Ubuntu 24.04 lets only programs with an AppArmor profile make user namespaces, and "
    "Docker by default no program in a container.",
    remedy=_RUN_AS_ROOT,
)
def _probe_user_namespaces() -> Finding:
    """Tries as an ordinary user, because root may always make namespaces."""
    as_user = [require("setpriv"), f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--ipc", "--fork"]
    argv = [*(as_user if os.geteuid() == 0 else []), require("unshare"), *namespaces, "true"]
    try:
        run(argv, timeout_s=COMMAND_TIMEOUT_S)
    except CommandFailed as error:
        return missing(message_of(error), _remedy_in_force())
    return ok("ordinary users may make them")


@_privilege_check(
    "range of uids",
    costs="Without root, all daemons of a run share one uid, and programs that change to another do not start.",
    remedy="sudo apt-get install uidmap && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "
    '"$USER"',
)
def _probe_uid_range() -> Finding:
    if os.geteuid() == 0:
        return ok("root has every uid")
    require("newuidmap")
    try:
        run([require("unshare"), "--user", "--map-auto", "--map-root-user", "true"], timeout_s=COMMAND_TIMEOUT_S)
    except CommandFailed as error:
        return missing(message_of(error))
    return ok("daemons can have uids of their own")


@_privilege_check(
    "/dev/net/tun",
    costs="There are no links: each is made of two TAP devices.",
    remedy="sudo modprobe tun; in a container: docker run --device /dev/net/tun --cap-add NET_ADMIN",
    required=True,
)
def _probe_tun_access() -> Finding:
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError as error:
        return missing(f"this user may not open it: {error.strerror}", f"sudo chmod 666 {TUN}")
    except OSError as error:
        return missing(error.strerror or str(error))
    return ok("this user may open it")


@_privilege_check(
    "real-time priority",
    costs="Links compete with the load for processor time, and packets leave later on a busy machine.",
    remedy='echo "$USER - rtprio 1" | sudo tee /etc/security/limits.d/flightpath.conf, and log in again; in a '
    "container: docker run --cap-add SYS_NICE",
    sandboxed=True,
)
def _probe_real_time() -> Finding:
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError as error:
        return missing(f"SCHED_RR is refused: {error.strerror}")
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return ok("SCHED_RR, priority 1")
