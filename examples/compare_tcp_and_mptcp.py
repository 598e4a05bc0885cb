"""One connection over two paths of 50 Mbit/s: what does MPTCP gain over TCP?

It is measured in virtual time, so the figures are the same on every machine. That needs the virtual-time kernel, which
`make uml-kernel` builds.
"""

import flightpath

run = flightpath.run(
    "multipath_unequal",
    form="full",
    clock="virtual",
    repeat=1,
    seconds=2,
    only={"transport": ["tcp", "mptcp"], "paths": "equal"},
)
table = run.cells.set_index("transport")[["goodput", "rtt", "share_path1", "verdict"]]
print(table.to_string(float_format="{:.4g}".format))
print(", ".join(f"{name} in {unit}" for name, unit in run.cells.attrs["units"].items() if name in table))

gain = table.goodput["mptcp"] / table.goodput["tcp"]
print(f"MPTCP is {gain:.2f} times as fast. Kept as {run.run_id}")
