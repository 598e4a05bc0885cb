"""One case of the memory limits: `python -m tests.campaign.memory CASE GROUP VERSION [--short]`."""

import sys
from pathlib import Path

from tests.campaign.apart import tell
from tests.campaign.memory import links
from tests.campaign.memory.group import MemoryGroup

RUN = {"relay": links.relay, "tunnel": links.tunnel}

if __name__ == "__main__":
    case, folder, version, *short = sys.argv[1:]
    sys.exit(tell(RUN[case](MemoryGroup(Path(folder), int(version)), bool(short))))
