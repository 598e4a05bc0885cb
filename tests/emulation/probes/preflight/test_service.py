"""`preflight service`: the command of the installed unit, run by hand against a real sshd."""

import json
import re
import subprocess

from prometheus_client.parser import text_string_to_metric_families

from probes.preflight.history.past import load
from probes.preflight.service.metrics import TEXTFILE
from results.store.store import Store
from tests.support.finished import finished
from tests.support.ssh_far_end import in_this_process


def test_a_unit_measures_remembers_exposes_and_alerts(own_end, tmp_path):
    memory = ["--results", str(own_end.memory)]
    pinned = ["--host", "dtn", "--size", "1MB", "--streams", "2"]
    assert in_this_process(["profile", "add", "nightly", *pinned, *memory]).code == 0
    alert = f'echo "$FLIGHTPATH_STATE $FLIGHTPATH_VERDICT: $FLIGHTPATH_REASON" >> {tmp_path}/told'
    where = ["-F", str(own_end.sshd.client_configuration), "--textfile", str(tmp_path), "--alert", alert]
    shown = in_this_process(["service", "show", "nightly", *where, *memory, "--json"])
    (line,) = re.findall("^ExecStart=(.*)$", json.loads(shown.printed)["flightpath-preflight-nightly.service"], re.M)
    words = [re.sub(r"\\(.)", r"\1", each).replace("$$", "$") for each in re.findall(r'"((?:[^"\\]|\\.)*)"', line)]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return finished([*words, *more], cwd="/")

    def exposed() -> dict[tuple[str, str], float]:
        families = text_string_to_metric_families((tmp_path / TEXTFILE).read_text())
        samples = [sample for family in families for sample in family.samples]
        return {(each.name, each.labels.get("end", "")): each.value for each in samples}

    assert (done := run()).returncode in (0, 4), done.stderr  # 4: this machine was busy
    assert done.stdout.startswith("nightly dtn: ")
    assert exposed()["flightpath_preflight_measurements_total", "done"] == 1
    assert exposed()["flightpath_preflight_last_throughput_bytes_per_second", ""] > 0
    limited = run("--daily-limit", "1kB")
    assert limited.returncode == 0 and "would move more than 1 kB within a day" in limited.stderr

    own_end.sshd.known_hosts.write_text("")
    for _ in range(2):
        assert (done := run()).returncode == 4 and "dtn: failed" in done.stdout, done.stderr
    assert exposed()["flightpath_preflight_measurements_total", "failed"] == 2
    assert "alert failed: dtn: " in (tmp_path / "told").read_text()
    pasts = load(Store.open(own_end.memory, create=False), "dtn")
    assert [(past.profile, past.configuration["streams"]) for past in pasts] == [("nightly", 2)] * 3
    assert own_end.left() == []
