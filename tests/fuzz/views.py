"""Every view of a store: what commands print, pages, and the dashboard, each judged by what must not be in it."""

import contextlib
import io
import random
from collections.abc import Callable, Collection, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode

from flightpath.errors import FlightpathError
from results.__main__ import main
from results.commands.scenarios import answer_of
from results.dashboard.app import application
from results.pages.html_report import render_html
from results.store.store import Store
from tests.support.asking_pages import asked
from tests.support.stored_runs import HOSTILE

_ACTIVE = {"img", "iframe", "object", "embed", "base", "link", "audio", "video", "frame"}
_VIEWS = 3


class _Page(HTMLParser):
    """Collects what could act: elements that fetch, handlers of events, and links that are programs."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script" and ("type", "application/json") not in attrs
        handlers = [name for name, _ in attrs if name.startswith("on")]
        links = [value or "" for name, value in attrs if name in ("href", "src", "action", "formaction", "xlink:href")]
        if (tag in _ACTIVE and not _is_ours(tag, links)) or handlers or any(map(_is_program, links)):
            self.problems.append(f"<{tag} {attrs}>")


def look_at_some(store: Store, run_ids: list[str], chance: random.Random) -> None:
    """Shows the store and some of its runs in a few ways, and judges what is shown; raises what a view raises."""
    look_at_command(store, "list")
    assert look_at_address(store, "/") == 200, "the list of runs fails"
    views = [partial(look_at_command, store, *words) for words in _commands(run_ids)]
    views += [partial(look_at_report, store, run_id) for run_id in run_ids]
    views += [partial(look_at_address, store, address) for address in _addresses(run_ids)]
    for view in chance.sample(views, _VIEWS):
        view()


def look_at_report(store: Store, run_id: str) -> None:
    """Renders the report of a run, if it can be read."""
    with contextlib.suppress(FlightpathError):
        look_at_page(render_html(store, run_id), scripts=1)


def look_at_command(
    store: Store, *words: str, command: Callable[[list[str]], int] = main, codes: Collection[int] = range(4)
) -> str:
    """Runs a command, of `flightpath results` if no other is given, on a store; returns what it printed on stdout."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = command([words[0], "--results", str(store.folder), *words[1:]])
    assert code in codes, code
    printed = out.getvalue() + errors.getvalue()
    hidden = {letter for letter in printed if not (letter.isprintable() or letter in "\n\t")}
    assert not hidden, f"{words}: {hidden}"
    return out.getvalue()


def look_at_page(text: str, *, scripts: int) -> None:
    """Judges a page's HTML, which has so many scripts of its own."""
    page = _Page()
    page.feed(text)
    page.close()
    assert not page.problems, page.problems
    assert page.scripts <= scripts, "a foreign script"
    assert HOSTILE not in text
    text.encode()


def look_at_address(store: Store, address: str) -> int:
    """Asks the dashboard, which answers or refuses, and never fails; returns the status."""
    path, _, query = address.partition("?")
    status, body = asked(application(store, lambda *_: [], answer_of, names=True), path, query)
    assert status in (200, 404, 500), status
    if status == 200 and not path.endswith(("/state", "/series")):
        look_at_page(body.decode(), scripts=2)
    return status


def _commands(run_ids: list[str]) -> Iterator[tuple[str, ...]]:
    yield ("list", "--json")
    for run_id in run_ids:
        yield from (("show", run_id, *options) for options in ((), ("--certificates", "--metrics", "all"), ("--json",)))
        yield ("compare", run_id, "--history", "5")
        yield from (("export", run_id, kind, "--output", "/dev/null/export") for kind in ("--json", "--csv"))
    if len(run_ids) > 1:
        yield from (("compare", *run_ids[:2]), ("compare", *run_ids[:2], "--json"))


def _addresses(run_ids: list[str]) -> Iterator[str]:
    yield from ("/history", "/compare", "/class", "/networks")
    for run_id in run_ids:
        yield from (f"/runs/{quote(run_id)}", f"/runs/{quote(run_id)}/state", f"/runs/{quote(run_id)}/series")
        yield (f"/compare?{urlencode({'run': run_id})}")
    yield f"/compare?{urlencode([('run', run_id) for run_id in run_ids[:2]])}"


def _is_ours(tag: str, links: list[str]) -> bool:
    return tag == "link" and all(Path(link).parent == Path("/static") or link.startswith("data:") for link in links)


def _is_program(link: str) -> bool:
    return link.strip().lower().startswith(("javascript:", "vbscript:", "data:text"))
