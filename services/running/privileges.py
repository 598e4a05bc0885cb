"""Running daemons without root's privileges: PostgreSQL refuses to start with them, and nginx should not have them.

There are two kinds of root. Real root can become another user. Root of a rootless user namespace ("fake root") cannot,
because no other uid exists there: it starts the daemon in a nested user namespace, in which the same real user has the
name `nobody`, owns the same files and has no capabilities.
"""

import enum
import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flightpath.commands import require
from flightpath.errors import UsageError
from flightpath.processes import has_id, read_id_map

ACCOUNT = "nobody"  # every distribution has it in passwd: initdb needs a name for its uid


class Situation(enum.Enum):
    """Identity of this process, which decides how a daemon drops privileges."""

    ORDINARY = "an ordinary user: there are no privileges"
    ROOT = "root: daemons change to another uid"
    FAKE_ROOT = "root of a user namespace with one uid: daemons get a nested user namespace"


@dataclass(frozen=True)
class Privileges:
    """Rules for starting daemons without privileges, and the user that they become; see `detect()`."""

    situation: Situation
    uid: int
    gid: int
    account: str = ACCOUNT

    @classmethod
    def detect(cls, account_name: str = ACCOUNT) -> Self:
        """Detects the situation of this process, from its uid and its user namespace."""
        account = pwd.getpwnam(account_name)
        maps = read_id_map("uid"), read_id_map("gid")
        here = situation(os.geteuid(), *maps, account.pw_uid, account.pw_gid)
        return cls(here, account.pw_uid, account.pw_gid, account_name)

    @classmethod
    def unchanged(cls) -> Self:
        """Returns the privileges of a daemon that keeps those of this process."""
        return cls(Situation.ORDINARY, os.geteuid(), os.getegid())

    def prefix(self, *, private_ipc: bool = False) -> list[str]:
        """Returns a prefix for a daemon's command; each program in it executes the next, so the PID stays.

        With a private IPC namespace, the kernel removes System V objects with the last process.
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
        """Makes a folder that only the daemon and root can enter.

        Raises:
            UsageError: the daemon's user cannot reach it, because a parent folder is closed.
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
        """Makes the daemon the owner of a file that this process wrote."""
        if self.situation is Situation.ROOT:
            os.chown(path, self.uid, self.gid)

    def _may_pass(self, folder: Path) -> bool:
        entry = folder.stat()
        owner, group = entry.st_uid == self.uid, entry.st_gid == self.gid
        return bool(entry.st_mode & (0o100 if owner else 0o010 if group else 0o001))


def situation(euid: int, uid_map: str, gid_map: str, uid: int, gid: int) -> Situation:
    """Returns the situation of a process with these id maps that wants to become another user."""
    if euid != 0:
        return Situation.ORDINARY
    return Situation.ROOT if has_id(uid_map, uid) and has_id(gid_map, gid) else Situation.FAKE_ROOT
