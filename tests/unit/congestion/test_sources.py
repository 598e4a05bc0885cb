"""Compilation of C files to BPF objects: names, the cache, and error messages."""

import re
import shutil
from pathlib import Path

import pytest

import congestion
from congestion import __main__ as command
from congestion import loader, provision, sources
from flightpath.errors import MissingCapability, UsageError
from flightpath.project import PROJECT
from tests.support import own_algorithm
from tests.support.congestion_models import HighSpeed

WITHOUT_MACROS = """
#include "tcp.bpf.h"
__u32 PROGRAM(mine_ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }
__u32 PROGRAM(mine_undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }
void PROGRAM(mine_cong_avoid, struct sock *sk, __u32 ack, __u32 acked) { tcp_reno_cong_avoid(sk, ack, acked); }
SEC(".struct_ops")
struct tcp_congestion_ops mine = {
    .ssthresh = (void *)mine_ssthresh,
    .undo_cwnd = (void *)mine_undo_cwnd,
    .cong_avoid = (void *)mine_cong_avoid,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "plain",
};
"""
(IN_README,) = re.findall(r"```c\n(.*?)```", Path(congestion.__file__).with_name("README.md").read_text(), re.DOTALL)
EXAMPLES = sorted(Path(congestion.__file__).parent.glob("examples/*.bpf.c"))
compiles = pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(sources, "_CACHE", tmp_path / "build" / "congestion")
    return tmp_path / "build" / "congestion"


@compiles
@pytest.mark.parametrize("name", congestion.shipped())
def test_each_is_called_as_its_file(name):
    source = sources.source_of(name)
    assert loader.name_in(sources.build(source), source) == name
    assert loader.name_in(sources.build(source, name_prefix="bpf_"), source) == f"bpf_{name}"


@compiles
@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_called_as_its_file_and_not_as_what_it_varies(source):
    assert loader.name_in(sources.build(source), source) == source.name.removesuffix(sources.SUFFIX)
    assert provision.name_of(str(source)) not in congestion.shipped()


@compiles
def test_an_object_is_made_once_and_again_when_what_it_includes_has_changed(tmp_path):
    header = tmp_path / "more.h"
    header.write_text("#define GAIN 1\n")
    source = own_algorithm.write(tmp_path, more='#include "more.h"\nint gain = GAIN;')
    first = sources.build(source)
    made_ns = first.stat().st_mtime_ns
    assert sources.build(source) == first and first.stat().st_mtime_ns == made_ns
    header.write_text("#define GAIN 2\n")
    assert sources.build(source) != first


@compiles
@pytest.mark.parametrize(("text", "name"), [(WITHOUT_MACROS, "plain"), (IN_README, "mine")], ids=["plain", "README"])
def test_a_name_is_read_from_a_structure_of_the_kernel_s_form_and_from_the_example_in_the_readme(tmp_path, text, name):
    source = tmp_path / "mine.bpf.c"
    source.write_text(text)
    assert congestion.name_of(str(source)) == name


@compiles
def test_what_does_not_compile_is_told_with_the_line_and_leaves_nothing(tmp_path, cache):
    source = own_algorithm.write(tmp_path, more="int wrong(void) { return nothing; }")
    with pytest.raises(UsageError, match=r"mine\.bpf\.c:3:.*undeclared identifier 'nothing'"):
        sources.build(source)
    assert list(cache.glob("*")) == []


@compiles
def test_a_file_without_an_algorithm_is_refused(tmp_path):
    source = tmp_path / "empty.bpf.c"
    source.write_text("int nothing;\n")
    with pytest.raises(UsageError, match=r"empty\.bpf\.c: no struct tcp_congestion_ops"):
        congestion.name_of(str(source))


@pytest.mark.parametrize(
    ("name", "why"), [("there/is/none.bpf.c", "no such file"), ("./mine.c", r"must end in \.bpf\.c")]
)
def test_files_that_are_none_are_refused(name, why):
    with pytest.raises(UsageError, match=why):
        provision.provision(name)


def test_a_control_of_the_kernel_is_taken_from_there_and_has_no_program_to_check(capsys):
    assert congestion.ensure("reno") is congestion.Origin.BUILT_IN
    assert command.main(["check", "reno"]) == 2
    assert "reno is the kernel's own" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nosuch", "--help", "cubic; true", ""])
def test_a_name_that_nobody_has_is_told_with_those_that_there_are(name):
    with pytest.raises(MissingCapability, match=rf"no congestion control '{name}'.*reno.*vegas"):
        congestion.ensure(name)


def test_highspeed_s_table_is_that_of_rfc_3649():
    """It has the largest window of each a(w), and b(w) there, by the RFC's formulas."""
    rows = re.findall(r"\{(\d+), (\d+)\}", sources.source_of("highspeed").read_text())
    assert len(rows) == 73
    for number, (w, decrease) in enumerate(rows, start=1):
        assert HighSpeed.a(int(w)) == pytest.approx(number, abs=0.05)
        assert int(decrease) == int(HighSpeed.b(int(w)) * 256 + 0.01)


SOURCE = """\
void PROGRAM(bad_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    tp->snd_cwnd += acked;
    tp->srtt_us = 0;
}
"""
LOGS = PROJECT / "tests/data/verifier"
"""Messages of Linux 6.18 about programs, shortened in the middle."""
WITH_LINES = (LOGS / "with_lines.txt").read_text()
WITHOUT_LINES = WITH_LINES.replace(" @ bad.bpf.c:1", "").replace(" @ bad.bpf.c:4", "").replace(" @ bad.bpf.c:5", "")
TOO_LARGE = (LOGS / "too_large.txt").read_text()
NO_LOG = "libbpf: extern (func ksym) 'tcp_fast': not found in kernel or module BTFs\nlibbpf: failed to load object\n"


def explain(log: str, folder: Path) -> str:
    source = folder / "bad.bpf.c"
    source.write_text(SOURCE)
    return str(loader.refusal(log, source, folder / "bad.log"))


@pytest.mark.parametrize("log", [WITH_LINES, WITHOUT_LINES])
def test_a_refusal_names_the_line_the_reason_and_what_to_do(log, tmp_path):
    lines = explain(log, tmp_path).splitlines()
    assert lines[0] == "bad.bpf.c:5: the kernel refuses this program: no write support to tcp_sock at off 1680"
    assert lines[1].split() == ["5", "|", "tp->srtt_us", "=", "0;"]
    assert "only snd_cwnd" in lines[2]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (TOO_LARGE, ["bad.bpf.c:4: ", "BPF program is too large. Processed 1000001 insn", "few rounds", "/bad.log"]),
        (NO_LOG, ["bad.bpf.c: the kernel refuses this program: extern (func ksym) 'tcp_fast': not found"]),
        ("", ["no reason given"]),
    ],
)
def test_the_reason_follows_the_last_instruction_or_is_the_loader_s_and_the_log_is_kept(log, words, tmp_path):
    message = explain(log, tmp_path)
    assert [each for each in words if each not in message] == []
    assert (tmp_path / "bad.log").read_text() == log
