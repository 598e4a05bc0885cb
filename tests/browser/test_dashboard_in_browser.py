"""The dashboard as a class sees it: a run that goes on, comparison by picking, history; and it changes nothing."""

import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from results.exchange.progress import CellProgress, report_progress
from results.records import Claim, ClaimVerdict, Series
from results.store.store import Store
from tests.support.dashboard import dashboard
from tests.support.made_up_runs import cell, changed, like_the_paper
from tests.support.reading_pages import WIDTHS, column, too_wide
from tests.support.stored_runs import HOSTILE, everything, hostile_run

LOADS = (500.0, 800.0)
PLAN = {
    "form": "quick",
    "axes": {"protocol": ["tcp", "mptcp"], "load": [500, 800]},
    "repeat": 2,
    "headlines": ["requests_per_s", "run_time"],
}


def kept(store, cells, host="lab1", finished=True, plan=PLAN) -> str:
    run_id = store.begin_run("mptcp_load", plan, {"host": host, "kernel": f"6.1 {host}"}, ["python", "-m", "x"])
    for order, result in enumerate(cells):
        store.record(run_id, result, order)
    if finished:
        store.finish_run(run_id, "done")
    return run_id


@pytest.fixture
def store(location) -> Store:
    store = Store.open(location)
    cells = like_the_paper(4, LOADS)
    kept(store, cells)
    slower = [changed(c, requests_per_s=c.measurement.metrics["requests_per_s"].value * 0.8) for c in cells]
    kept(store, slower, "lab2")
    return store


@pytest.fixture
def address(location, store):
    with dashboard(location) as (_, where):
        yield f"http://{where}"


def status(address: str, method: str = "GET", **headers: str) -> int:
    request = urllib.request.Request(address, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_holds_at_any_width(store, address, opened, accessible, width):
    first, second = [record.run_id for record in store.runs()]
    paths = f"/ /runs/{first} /runs/{first}/report /compare?run={first}&run={second} /compare /history"
    for path in paths.split():
        page = opened(address + path, width)
        assert too_wide(page) <= 0, path
        accessible(page)


def test_runs_are_picked_and_compared_on_the_same_axes(store, address, opened, accessible):
    page = opened(address, color_scheme="dark")
    assert column(page, "main table", 4) == ["lab2", "lab1"]
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    first, second = [record.run_id for record in store.runs()]
    assert page.locator("h2").first.inner_text() == f"{second} is slower than {first}."
    page.locator("#cells-over-time .explored").wait_for()
    traces = "charts.drawn.get('{}').plots[0].traces.map((trace) => trace.label.split(/[: ]/)[0])"
    assert page.evaluate(traces.format("means")) == [first, first, second, second]
    assert page.evaluate(traces.format("cells-over-time")) == [first, second]
    accessible(page)
    assert ["environment", "kernel", "6.1 lab1", "6.1 lab2"] in [
        row.locator("td, th").all_inner_texts() for row in page.locator("section").last.locator("tbody tr").all()
    ]
    page.get_by_label("metric").select_option("requests_per_s")
    assert set(column(page, "table[data-filter]", 0)) == {"requests_per_s"}


def test_filters_of_the_list_are_in_its_address(store, address, opened):
    page = opened(address)
    page.get_by_label("machine").select_option("lab1")
    page.get_by_role("button", name="Show").click()
    assert "machine=lab1" in page.url
    assert column(page, "main table", 4) == ["lab1"]
    page.get_by_label("parameters").fill("protocol=udp")
    page.get_by_role("button", name="Show").click()
    assert column(page, "main table", 4) == []


def test_a_run_is_followed_as_it_goes_on(store, address, opened, accessible):
    run_id = kept(store, [cell("tcp", 500.0)], finished=False)
    page = opened(f"{address}/runs/{run_id}")
    listed = opened(address)
    state = page.locator("p[role=status]:not(.unseen)")  # charts have others
    assert "1 of 8 cells" in state.inner_text() and "left" in state.inner_text()
    page.locator("details > summary").first.click()
    kept_open = page.locator("details > summary").first.inner_text()
    idle = Series("%", (0.0, 1.0, 2.0), (90.0, 40.0, 60.0))
    for requests in (120, 480):
        said, now = f"{requests} requests", datetime.now(UTC).isoformat()
        progress = CellProgress(cell="load=500 #2", fraction=0.25, doing=said, told_at=now, series={"idle CPU": idle})
        report_progress(store, run_id, progress)
        page.get_by_text(said).wait_for()
    assert page.locator("h2").first.inner_text() == "Now: load=500 #2"
    accessible(page)
    assert page.evaluate("charts.drawn.get('now').plots[0].traces[0].y") == [90, 40, 60]
    page.locator("#now .plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    zoomed = page.evaluate("charts.drawn.get('now').state.x")
    store.record(run_id, cell("mptcp", 500.0), 1)
    page.locator("p[role=status]", has_text="2 of 8 cells").wait_for()
    listed.locator("main tbody tr", has_text="2 of 8").wait_for()
    assert "Latest cell: protocol=mptcp" in page.locator("h2").nth(1).inner_text()
    assert page.locator("details[open] > summary").first.inner_text() == kept_open
    assert page.locator("#live th button").count() > 5, "new tables can be sorted too"
    assert page.evaluate("charts.drawn.get('now').state.x") == zoomed and page.locator("#now .plot").is_visible()
    assert page.evaluate("document.activeElement.closest('figure')?.id") == "now", "the focus stays where it was"
    store.record_claims(run_id, [Claim("it grows", "+50 %", "+49 %", ClaimVerdict.REPRODUCED)])
    store.finish_run(run_id, "done")
    page.locator("p[role=status]", has_text="done").wait_for()
    assert page.get_by_text("it grows").is_visible()
    assert page.locator("[data-refresh]").count() == 0 and page.get_by_text("Now:").count() == 0


def test_history_shows_each_point_over_the_runs(store, address, opened):
    page = opened(f"{address}/history")
    assert page.locator("h2").all_inner_texts() == [
        f"load={load} protocol={protocol}" for load in (500, 800) for protocol in ("mptcp", "tcp")
    ]
    joined = "charts.drawn.get('history-1').plots[0].joined.map((trace) => trace.x)"
    assert page.evaluate(joined) == [[0, 1]]
    other = kept(store, like_the_paper(4, LOADS), plan={**PLAN, "settings": {"threads": 7}})
    page.reload()
    assert page.evaluate(joined) == [[0, 1], [2]], "no line joins two plans"
    page.locator("#history-1 .u-over").wait_for()
    page.locator("#history-1 .plot").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(f"{address}/runs/{other}#*")
    assert page.locator("tr.chosen").count() == 4, "of the point, all repetitions"
    page.go_back()
    page.get_by_label("machine").select_option("lab2")
    page.get_by_label("metric").select_option("run_time")
    page.get_by_label("to", exact=True).fill("2000-01-01")
    page.get_by_role("button", name="Show").click()
    assert page.get_by_text("No run has values to show.").is_visible()
    page.get_by_label("to", exact=True).fill("")
    page.get_by_role("button", name="Show").click()
    page.locator("#history-1 .u-over").wait_for()
    assert page.evaluate(joined) == [[0]]


def test_on_a_phone_the_list_has_the_status_of_each_run(store, address, opened):
    page = opened(address, 400)
    row = page.locator("main tbody tr").first
    for name in ("status", "verdict", "machine"):
        box = row.locator(f"[data-name={name}]").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 400, name
    assert row.locator("[data-name=status]").inner_text() == "done"


def test_a_hostile_run_does_nothing_to_any_page(store, address, opened):
    run_id = hostile_run(store)
    store.resume_run(run_id)
    course = Series(HOSTILE, (0.0, 1.0), (1e308, -1e308))
    progress = CellProgress(cell=HOSTILE, fraction=1, doing=HOSTILE, told_at=HOSTILE, series={HOSTILE: course})
    report_progress(store, run_id, progress)
    scenario, other = urllib.parse.quote(HOSTILE), store.runs()[0].run_id
    paths = f"/ /runs/{run_id} /runs/{run_id}/report /history?scenario={scenario} /compare?run={run_id}&run={other}"
    for path in paths.split():
        page = opened(address + path)
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        assert page.locator("img").count() == 0
        assert "49" not in page.locator("h1").all_inner_texts()


def test_it_answers_nobody_else_and_changes_nothing(store, address):
    def files() -> dict[Path, int]:
        found = (path for path in store.folder.rglob("*") if path.suffix not in (".sqlite-wal", ".sqlite-shm"))
        return {path: path.stat().st_mtime_ns for path in found}

    before, run_id = (files(), everything(store)), store.runs()[0].run_id
    for path in ("/", f"/runs/{run_id}", f"/runs/{run_id}/report", "/history"):
        assert status(address + path) == 200
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert status(address + path, method) == 405
    assert status(address, Host="evil.example") == 400
    missing = f"/runs/nobody /static/../app.py /static/x /history?scenario=none /?since=x /compare?run={run_id}"
    for path in missing.split():
        assert status(address + path) == 404
    assert (files(), everything(store)) == before
    listening = Path("/proc/net/tcp").read_text()
    port = f"{int(address.rpartition(':')[2]):04X}"
    assert f"0100007F:{port}" in listening and f"00000000:{port}" not in listening
