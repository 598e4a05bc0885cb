"""A congestion control of one's own: a C file with Reno under another name."""

from pathlib import Path

RENO = "tcp_reno_cong_avoid(sk, ack, acked);"
_SOURCE = """
#include "tcp.bpf.h"
{more}
RENO(ssthresh)
void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked) {{ {body} }}
RENO(undo_cwnd)
ALGORITHM({name}, ssthresh, cong_avoid, undo_cwnd);
"""


def write(folder: Path, *, name: str = "mine", body: str = RENO, more: str = "") -> Path:
    """Writes `mine.bpf.c`; `more` is its line 3, and `body` is that of cong_avoid, in line 5."""
    source = folder / "mine.bpf.c"
    source.write_text(_SOURCE.format(name=name, body=body, more=more))
    return source
