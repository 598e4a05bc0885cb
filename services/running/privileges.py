"""Daemons without root's power: without this PostgreSQL would not start at all, and nginx would serve as root.

Two kinds of root start services. Real root can become another user. "Fake root", the only user mapped into a rootless
user namespace, cannot: no other uid exists there. It starts the daemon in a nested user namespace instead, where the
same real user is called `nobody`, owns the same files and has no capability.
"""

import enum
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import require
from flightpath.errors import UsageError

ACCOUNT = "nobody"  # in every distribution's passwd: initdb wants its uid to have a name


class Situation(enum.Enum):
    """What stands between this process and an unprivileged daemon."""

    ORDINARY = "an ordinary user: nothing to drop"
    ROOT = "root: daemons change to another uid"
    FAKE_ROOT = "root of a user namespace with one uid: daemons get a nested user namespace"


@dataclass(frozen=True)
class Privileges:
    """How daemons are started without root's power; `found()` tells which of the three ways applies here."""

    situation: Situation
    uid: int
    gid: int
    account: str = ACCOUNT

    @classmethod
    def found(cls, account_name: str = ACCOUNT) -> "Privileges":
        """Reads the situation of this very process from its uid and its user namespace.

        Args:
            account_name: whom daemons become.
        """
        account = pwd.getpwnam(account_name)
        maps = Path("/proc/self/uid_map").read_text(), Path("/proc/self/gid_map").read_text()
        found = situation(os.geteuid(), *maps, account.pw_uid, account.pw_gid)
        return cls(found, account.pw_uid, account.pw_gid, account_name)

    def prefix(self, *, private_ipc: bool = False) -> list[str]:
        """What to put in front of a daemon's command; every part of it replaces itself by the next, so the PID stays.

        Args:
            private_ipc: with System V IPC of its own, which the kernel removes with the last process.
        """
        ipc = ["--ipc"] if private_ipc else []
        if self.situation is Situation.FAKE_ROOT:
            mapping = [f"--map-user={self.uid}", f"--map-group={self.gid}"]
            return [require("unshare"), "--user", *ipc, *mapping, "--"]
        if self.situation is Situation.ORDINARY:
            return []
        dropped = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", "--no-new-privs"]
        return [*([require("unshare"), *ipc, "--"] if ipc else []), require("setpriv"), *dropped, "--"]

    def prepare_folder(self, folder: Path) -> None:
        """Makes a folder that only the daemon (and root) can enter.

        Raises:
            UsageError: the daemon's user cannot reach it because a parent folder is closed.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.situation is not Situation.ROOT:
            return
        os.chown(folder, self.uid, self.gid)
        closed = [parent for parent in folder.absolute().parents if not self._may_pass(parent)]
        if closed:
            raise UsageError(
                f"{folder}: the daemons' user {self.account!r} cannot pass through {closed[0]}",
                f"choose another folder, or let others pass: chmod o+x {closed[0]}",
            )

    def give(self, path: Path) -> None:
        """Makes a file that this process wrote the daemon's own."""
        if self.situation is Situation.ROOT:
            os.chown(path, self.uid, self.gid)

    def _may_pass(self, folder: Path) -> bool:
        entry = folder.stat()
        owner, group = entry.st_uid == self.uid, entry.st_gid == self.gid
        return bool(entry.st_mode & (0o100 if owner else 0o010 if group else 0o001))


def situation(euid: int, uid_map: str, gid_map: str, uid: int, gid: int) -> Situation:
    """Which situation a process is in, from its uid, its `/proc/PID/uid_map` and `gid_map`, and the user to become."""
    if euid != 0:
        return Situation.ORDINARY
    return Situation.ROOT if _maps(uid_map, uid) and _maps(gid_map, gid) else Situation.FAKE_ROOT


def _maps(id_map: str, wanted: int) -> bool:
    ranges = [[int(field) for field in line.split()] for line in id_map.splitlines()]
    return any(first <= wanted < first + count for first, _, count in ranges)
