"""The page of `flightpath watch`: opens fast, plays smoothly, by keyboard, at any width, light and dark."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.commands.watch import main as watch
from results.pages.film import Span, write_film
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.file import FLOW_ROW, SOCKET_ROW, Recording, read
from results.store.store import Store
from tests.support.finished import finished
from tests.support.reading_pages import WIDTHS, too_wide
from tests.support.watched_pages import captured_bytes, shown

# How many packets from h2 are under way on a link's direction, or were dropped there before, at some moments.
_ON_THE_LINK = """([point, moments]) => moments.map((time) => {
  const { recording } = player.runs[0];
  const name = (i) => recording.flows[recording.flow[i]]?.name ?? "";
  const isMine = (i) => recording.point[i] === point && name(i).startsWith("TCP 10.0.1.2:");
  const isLost = (i) => recording.transit[i] === NEVER;
  let count = 0;
  recording.underWay(time, 0, (i) => { if (isMine(i) && !isLost(i)) count++; });
  for (let i = 0; i < recording.count && recording.entered[i] <= time; i++) if (isMine(i) && isLost(i)) count++;
  return count;
})"""
PACKETS, MANY, BEGAN = 100_000, 1_000_000, 10**18
DROP = (0xC8, 0x10, 0x2E)
GAP_NS, DELAY_NS = 120_000, 20_000_000


def _recording(packets: int = PACKETS) -> Recording:
    """A link full of packets, and their acknowledgements; every thousandth is lost."""
    number = np.arange(packets)
    point = number % 2
    time = BEGAN + number * GAP_NS // 2
    kinds = {"seq": "u4", "ack": "u4", "payload": "u2", "window": "u2", "id": "u2"}
    entries = {name: np.zeros(packets, kind) for name, kind in kinds.items()}
    entries |= {"time": time, "point": point.astype("u2"), "flow": point.astype("u2"), "identity": number.astype("u4")}
    entries |= {
        "headers": np.full(packets, 66, "u1"),
        "flags": np.full(packets, 16, "u1"),
        "ecn": np.zeros(packets, "u1"),
    }
    entries["payload"][point == 0] = 1448
    entries["seq"][point == 0] = 1448 * np.arange(packets // 2)
    arrives = number % 1000 != 500
    arrivals = {name: entries[name][arrives] for name in ("identity", "point", "ecn")}
    arrivals["time"] = (time + DELAY_NS + 500_000)[arrives]
    flows = np.zeros(2, FLOW_ROW)
    flows["flow"], flows["family"], flows["protocol"] = [0, 1], 4, 6
    flows["source_port"], flows["target_port"] = [1, 2], [2, 1]
    sockets = np.zeros(1000, SOCKET_ROW)
    sockets["time_ns"], sockets["cwnd"] = BEGAN + np.arange(1000) * 5_000_000, np.arange(1000) % 300
    direction = {"specification": "100Mbit", "bandwidth_bps": 10**8, "delay_ns": DELAY_NS, "queue_bytes": 500_000}
    directions = [direction | {"lossy": True}] * 2
    links = [{"name": "h1-eth0:h2-eth0", "nodes": ["h1", "h2"], "directions": directions}]
    network = {"hosts": ["h1", "h2"], "switches": [], "links": links}
    return Recording(entries, arrivals, sockets, flows, {**network, "began_ns": BEGAN, "ended_ns": int(time[-1])})


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Path:
    """A page with two runs of 100,000 packets, and one with a single run."""
    folder = tmp_path_factory.mktemp("watch")
    cell = WatchedCell("run", "congestion_race", "algorithm=cubic #1", _recording())
    for name, cells in (("one", [cell]), ("two", [cell, cell])):
        (folder / f"{name}.html").write_text(render_watch(cells), encoding="utf-8")
    return folder


def _open(opened, page: Path, width: int = 1280, **options):
    shown = opened(page.as_uri(), width, **options)
    shown.wait_for_selector("body[data-ready]")
    return shown


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_accessible_at_any_width_in_light_and_dark(watched, opened, accessible, width, colours):
    page = _open(opened, watched / "two.html", width, color_scheme=colours)
    assert too_wide(page) <= 0
    assert page.locator("canvas").count() == 4
    accessible(page)


def test_a_hundred_thousand_packets_open_in_three_seconds_and_play_at_thirty_frames(watched, opened):
    _opens_and_plays_fast(_open(opened, watched / "one.html"))


def test_a_million_packets_stay_smooth(tmp_path, opened):
    cell = WatchedCell("run", "congestion_race", "algorithm=cubic #1", _recording(MANY))
    (tmp_path / "many.html").write_text(render_watch([cell]), encoding="utf-8")
    page = _open(opened, tmp_path / "many.html")
    assert page.evaluate("player.runs[0].recording.count") == MANY
    assert min(_frames_per_s(page)) >= 30


def _opens_and_plays_fast(page) -> None:
    assert page.evaluate("performance.now()") < 3000
    rates = _frames_per_s(page)
    assert min(rates) >= 30, rates


def _frames_per_s(page) -> list[float]:
    """The rates while it plays at 1/1000, 1/100, 1/10 and the full speed."""
    rates: list[float] = page.evaluate(
        """async () => {
          const rates = [];
          for (const exponent of [-3, -2, -1, 0]) {
            player.setSpeed(exponent); player.seek(1000); player.frames = 0; player.play(true);
            const began = performance.now();
            await new Promise((done) => setTimeout(done, 1500));
            player.play(false);
            rates.push(player.frames / (performance.now() - began) * 1e3);
          }
          return rates;
        }"""
    )
    return rates


@pytest.mark.nightly
@pytest.mark.starts_kernels
@pytest.mark.timeout(1800)
def test_a_cell_of_the_main_job_is_shown_as_captures_at_both_ends_of_a_link_saw_it(tmp_path, opened):
    """At ten random moments, as many packets to the client are on its link, or were lost there, as tcpdump saw.

    Half of the moments are just after one of these packets came: the link is idle for most of the time.
    """
    words = f"run mptcp_load --clock virtual --repeat 1 --threads 200 --loads 800 --results {tmp_path}"
    words += " --only protocol=mptcp --record --capture h1-eth0,s1-eth1"
    subprocess.run([sys.executable, "-m", "flightpath.cli", *words.split()], cwd=PROJECT, check=True)
    assert watch(["--results", str(tmp_path), "--output", str(tmp_path / "page.html")]) == 0
    store = Store.open(tmp_path)
    (cell,), folder = store.cells("latest"), store.artifacts("latest")
    facts, _ = shown(tmp_path / "page.html")
    point = [each["name"] for each in facts["directions"]].index("s1 → h1")
    began = read(folder / cell.certificate.found["recording"]["file"]).description["began_ns"]
    page = _open(opened, tmp_path / "page.html")
    assert page.evaluate("player.runs[0].recording.count") >= PACKETS
    at_end, at_switch = (
        captured_bytes(folder / each["file"], "10.0.1.2")[0] - began for each in cell.certificate.found["captures"]
    )
    random = np.random.default_rng(39)
    after_a_packet = random.choice(at_switch, 5) / 1e6 + random.uniform(0, 0.2, 5)
    moments = np.concatenate([random.uniform(0, facts["duration"], 5), after_a_packet])
    inside = [
        ((at_switch >= 0) & (at_switch <= t)).sum() - ((at_end >= 0) & (at_end <= t)).sum() for t in moments * 1e6
    ]
    assert page.evaluate(_ON_THE_LINK, [point, moments.tolist()]) == inside and min(inside[5:]) > 0
    _opens_and_plays_fast(page)


def test_keys_play_step_and_jump_to_losses(watched, opened):
    page = _open(opened, watched / "one.html")
    page.keyboard.press("Space")
    wait_until(lambda: page.evaluate("player.time > 1"), "the page to play", 20)
    assert page.locator("#play").text_content() == "Pause"
    page.keyboard.press("Space")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("player.time") == pytest.approx(GAP_NS / 2e6)
    page.select_option("#kind", label="loss")
    page.locator("#event-forward").click()
    assert page.evaluate("player.time") == pytest.approx(500 * GAP_NS / 2e6)
    assert "dropped at 30.000 ms: loss" in page.locator(".chosen").text_content()
    page.locator(".legend button").first.click()
    assert page.locator(".legend button").first.get_attribute("aria-pressed") == "true"
    wait_until(lambda: page.locator(".state").text_content(), "what the sender knows", 20)
    known = page.locator(".state").text_content()
    assert re.fullmatch("window [56] packets · in flight 0 · threshold 0 · round trip 0.0 ms · open", known)


def test_a_film_shows_a_loss_in_its_colour(watched, tmp_path, chromium):
    """Three frames, of which the second has the cross of the packet that is lost at 30 ms."""
    page, film = (watched / "one.html").read_text(encoding="utf-8"), tmp_path / "x.gif"
    write_film(page, film, Span(0.028, 0.0325, 0.025))
    with Image.open(film) as opened:
        assert (opened.n_frames, opened.info["duration"]) == (3, 80)
        crosses = []
        for number in range(3):
            opened.seek(number)
            network = np.array(opened.convert("RGB")).astype(int)[:320]
            crosses.append(int((np.abs(network - DROP).sum(2) < 40).sum()))
    assert crosses[0] == 0 < crosses[1], crosses


def test_a_film_for_slides_is_what_players_play(watched, tmp_path, chromium):
    """An MP4 of three frames, in H.264 with the colours that any player knows."""
    if not (shutil.which("ffmpeg") and shutil.which("ffprobe")):
        pytest.skip("needs ffmpeg: make browser-setup")
    page, film = (watched / "one.html").read_text(encoding="utf-8"), tmp_path / "x.mp4"
    write_film(page, film, Span(0.028, 0.0305, 0.025))
    argv = ["ffprobe", "-v", "error", "-count_frames", "-of", "csv=p=0", str(film)]
    entries = "stream=codec_name,width,pix_fmt,r_frame_rate,nb_read_frames"
    found = finished([*argv, "-show_entries", entries], check=True).stdout
    assert found.strip() == "h264,1280,yuv420p,25/1,3"
