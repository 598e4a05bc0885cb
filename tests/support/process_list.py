"""The processes of this machine, for tests of what runs and what is left behind."""

from pathlib import Path

from flightpath.processes import all_processes


def mentioning(*texts: str) -> list[int]:
    """PIDs of the processes whose command lines have all these texts."""
    return sorted(each.pid for each in all_processes() if all(text in each.command_line for text in texts))


def sandbox_processes(supervisor: int) -> list[int]:
    """PIDs of a running sandbox: supervisor, keeper, init and main."""
    chain = [supervisor]
    for _ in range(3):
        children = Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text().split()
        chain.append(int(children[0]))
    return chain


def waits_in(pid: int, call: str) -> bool:
    """Whether a process sleeps in a function of the kernel that has this text in its name.

    It is `poll` for poll and select, `wait_woken` for reading from a terminal, `do_wait` for waiting for a child. Only
    then does a signal end its waiting: Python takes note of one that comes just before, and waits all the same.
    """
    return call in Path(f"/proc/{pid}/wchan").read_text()
