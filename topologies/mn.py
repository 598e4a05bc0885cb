#!/usr/bin/python3
"""Mininet's own command with Flightpath's networks, links, switches and controllers.

    sudo topologies/mn.py --topo dtn_pair --link relay,bw=10000,delay=15ms --switch auto --controller steering

It also works as a file for `mn --custom`, except that `mn` runs its clean-up on the machine if it does not find the
file. All of `mn` runs in a sandbox: its network, its Open vSwitch and its processes end with it, however it ends, and
other networks on the machine are not affected, so that `mn -c` is never needed. The sandbox is isolated from the
outside: there is no `--nat`, and a remote controller must run inside (`sh ./controller &`).
"""

import sys
from pathlib import Path

# Inside the sandbox mn is called `mn`, and has all of our choices already.
_IS_IN_MN = hasattr(sys.modules["__main__"], "MininetRunner") and sys.modules["__main__"].__name__ == "__main__"
# If anything below fails, mn would "clean up": it ends all processes with names like Mininet's, also those of others.
if _IS_IN_MN:
    vars(sys.modules["__main__"])["cleanup"] = lambda: None

if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.pop(0)  # this folder, in which there is another `mininet`
# mn executes this file without setting __file__.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from topologies.mininet.runner import main  # noqa: E402

if __name__ == "__main__" or _IS_IN_MN:
    sys.exit(main(sys.argv[1:]))
