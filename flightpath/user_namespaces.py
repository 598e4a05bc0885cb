"""User namespaces (user_namespaces(7)): whether root here is root of the machine, and which IDs exist."""

import os
from pathlib import Path
from typing import Literal

_EVERY_ID = "0 0 4294967295"


def is_machine_root() -> bool:
    """Whether this process is root of the machine, and not only root of a user namespace."""
    return os.geteuid() == 0 and not in_user_namespace()


def in_user_namespace() -> bool:
    """Whether this process is in another user namespace than the machine's first one."""
    return read_id_map("uid").split() != _EVERY_ID.split()


def read_id_map(kind: Literal["uid", "gid"]) -> str:
    """The ID map of this process's user namespace: a line `FIRST_INSIDE FIRST_OUTSIDE COUNT` per range of IDs."""
    return Path(f"/proc/self/{kind}_map").read_text(encoding="ascii")


def has_id(id_map: str, number: int) -> bool:
    """Whether an ID exists in the user namespace that has this ID map."""
    ranges = [[int(field) for field in line.split()] for line in id_map.splitlines()]
    return any(first <= number < first + count for first, _, count in ranges)
