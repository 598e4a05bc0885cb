"""One case of the memory limits, in a control group that is there; each line of its output is an outcome as JSON."""

import argparse
import sys
from pathlib import Path

from tests.campaign.apart import tell
from tests.campaign.memory import CASES, imports, links
from tests.campaign.memory.group import MemoryGroup

RUN = {"relay": links.relay, "tunnel": links.tunnel, "import": imports.imports}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.memory", description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("folder", type=Path, help="of the control group")
    parser.add_argument("version", type=int, choices=(1, 2))
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    sys.exit(tell(RUN[options.case](MemoryGroup(options.folder, options.version), options.short)))
