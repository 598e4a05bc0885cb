"""Logs of the verifier, as old and new kernels write them, become messages with a line of the user's file."""

from pathlib import Path

import pytest

from congestion import loader

SOURCE = """\
void PROGRAM(bad_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    tp->snd_cwnd += acked;
    tp->srtt_us = 0;
}
"""
# Linux 6.18, shortened in the middle.
WITH_LINES = """\
libbpf: prog 'bad_avoid': BPF program load failed: Permission denied
libbpf: prog 'bad_avoid': -- BEGIN PROG LOAD LOG --
Global function bad_avoid() doesn't return scalar. Only those are supported.
0: R1=ctx() R10=fp0
; void PROGRAM(bad_avoid, struct sock *sk, __u32 ack, __u32 acked) @ bad.bpf.c:1
0: (79) r2 = *(u64 *)(r1 +0)
func 'cong_avoid' arg0 has btf_id 2953 type STRUCT 'sock'
1: R1=ctx() R2=trusted_ptr_tcp_sock()
; tp->snd_cwnd += acked; @ bad.bpf.c:4
4: (63) *(u32 *)(r2 +1444) = r3       ; R2=trusted_ptr_tcp_sock() R3=scalar()
5: (b7) r1 = 0                        ; R1=0
; tp->srtt_us = 0; @ bad.bpf.c:5
6: (63) *(u32 *)(r2 +1680) = r1
no write support to tcp_sock at off 1680
processed 7 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
-- END PROG LOAD LOG --
libbpf: prog 'bad_avoid': failed to load: -13
libbpf: failed to load object 'bad.o'
Permission denied
"""
WITHOUT_LINES = WITH_LINES.replace(" @ bad.bpf.c:1", "").replace(" @ bad.bpf.c:4", "").replace(" @ bad.bpf.c:5", "")
TOO_LARGE = """\
libbpf: prog 'bad_avoid': -- BEGIN PROG LOAD LOG --
; for (__u32 i = 0; i < STEPS; i++) { @ bad.bpf.c:4
66: (07) r3 += -1                     ; R3=7
97: (bf) r0 = r4                      ; R0=scalar(id=2,smin=0,smax=umax=0xffffffff,var_off=(0x0; 0xffffffff))
98: (67) r0 <<= 32
BPF program is too large. Processed 1000001 insn
processed 1000001 insns (limit 1000000) max_states_per_insn 26 total_states 16988 peak_states 121 mark_read 0
-- END PROG LOAD LOG --
libbpf: prog 'bad_avoid': failed to load: -7
"""
NO_LOG = "libbpf: extern (func ksym) 'tcp_fast': not found in kernel or module BTFs\nlibbpf: failed to load object\n"


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "bad.bpf.c"
    path.write_text(SOURCE)
    return path


def explain(log: str, source: Path) -> str:
    return str(loader.refusal(log, source, source.with_suffix(".log")))


@pytest.mark.parametrize("log", [WITH_LINES, WITHOUT_LINES])
def test_a_refusal_names_the_line_the_reason_and_what_to_do(log, source):
    lines = explain(log, source).splitlines()
    assert lines[0] == "bad.bpf.c:5: the kernel refuses this program: no write support to tcp_sock at off 1680"
    assert lines[1].split() == ["5", "|", "tp->srtt_us", "=", "0;"]
    assert "only snd_cwnd" in lines[2]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (TOO_LARGE, ["bad.bpf.c:4: the kernel refuses this program: BPF program is too large. Processed 1000001 insn"]),
        (TOO_LARGE, ["give loops few rounds", "bad.bpf.log"]),
        (NO_LOG, ["bad.bpf.c: the kernel refuses this program: extern (func ksym) 'tcp_fast': not found"]),
        ("", ["no reason given"]),
    ],
)
def test_the_reason_follows_the_last_instruction_or_is_the_loader_s_and_the_log_is_kept(log, words, source):
    message = explain(log, source)
    assert [each for each in words if each not in message] == []
    assert source.with_suffix(".log").read_text() == log
