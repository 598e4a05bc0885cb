"""In a lab: the main job again and again, while the time of day is set at a random moment; prints a JSON line for each.

The first one is left alone: the others are compared with it.
"""

import json
import random
import subprocess
import sys
import tempfile
import time

from flightpath.project import PROJECT

STEPS_S = (1, -1, 3600, -3600)


def main(trials: int, seed: int) -> None:
    """Runs the job once undisturbed, and then with a step at a random moment in each trial."""
    chance, begun_s = random.Random(seed), time.monotonic()
    _print_job(0, 0.0)
    lasts_s = time.monotonic() - begun_s
    for _ in range(trials):
        _print_job(chance.choice(STEPS_S), chance.uniform(0, lasts_s))


def _print_job(by_s: int, at_s: float) -> None:
    print(json.dumps({"by_s": by_s, "at_s": round(at_s, 3), **_job(by_s, at_s)}), flush=True)


def _job(by_s: int, at_s: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        words = ["--threads", "40", "--loads", "400", "--repeat", "1", "--only", "protocol=mptcp", "--json"]
        argv = [sys.executable, "-m", "scenarios.mptcp_load", "--results", folder, *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(argv, cwd=PROJECT, **pipes) as process:
            time.sleep(at_s)
            time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)
            printed, errors = process.communicate()
    time.clock_settime(time.CLOCK_REALTIME, time.time() - by_s)
    if not printed:
        return {"code": process.returncode, "errors": errors[-400:]}
    (cell,) = json.loads(printed)["cells"]
    metrics = {name: metric["value"] for name, metric in cell["metrics"].items()}
    return {"code": process.returncode, "verdict": cell["verdict"], "metrics": metrics}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
