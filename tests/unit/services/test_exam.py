"""The examination without its daemons: credentials, questions, pages, and what the daemons are told."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services import nginx, postgres
from services.exam import credentials
from services.exam.credentials import Session, is_code, sign, students, verify
from services.exam.pages import Pages
from services.exam.questions import COUNT, paper
from services.exam.service import load_script

KEY = b"k" * 32
NOW = 1_000_000.0
PAGES = Pages(COUNT)


class Structure(HTMLParser):
    """The tags of a page, and those that are still open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(name: str, **changes) -> str:
    values = {"account": "a", "number": None, "title": "T", "body": "one\n\n   two", "chosen": None, **changes}
    return PAGES.render(name, choices=["w", "x", "y", "z"], **values).decode()


def test_access_codes_are_random_and_can_be_repeated():
    first, again, other = (list(students(500, seed)) for seed in (1, 1, 2))
    assert first == again
    assert list(students(50, seed=1)) == first[:50], "more students do not change the codes of the first"
    assert not {student.code for student in first} & {student.code for student in other}
    assert len({student.code for student in first}) == len({student.account for student in first}) == 500
    assert all(re.fullmatch("[0-9a-f]{32}", student.code) for student in first)


def test_a_code_is_recognised_as_people_type_it():
    (student,) = students(1, 1)
    kept = credentials.code_hash(student.code)
    assert is_code(f" {student.code.upper()} ", kept)
    assert not is_code(student.code[:-1], kept)
    assert not is_code(student.code, None)


def test_a_session_is_proved_by_its_cookie_until_it_expires():
    session = Session(17, "student00017")
    cookie = sign(session, KEY, NOW)
    assert verify(cookie, KEY, NOW + credentials.SESSION_SECONDS - 1) == session
    assert verify(cookie, KEY, NOW + credentials.SESSION_SECONDS) is None
    assert verify(cookie, b"other", NOW) is None


@given(st.integers(0, 200), st.characters(max_codepoint=255))
def test_a_cookie_with_one_character_changed_proves_nothing(place, character):
    cookie = sign(Session(17, "student00017"), KEY, NOW)
    place %= len(cookie)
    changed = cookie[:place] + character + cookie[place + 1 :]
    assert changed == cookie or verify(changed, KEY, NOW) is None


def test_the_paper_is_the_same_every_time_and_every_right_answer_is_one_of_four():
    questions = paper()
    assert questions == paper()
    assert [question.number for question in questions] == list(range(1, COUNT + 1))
    assert all(len(set(question.choices)) == 4 for question in questions)
    assert len({question.body for question in questions}) == COUNT
    # With its row, each fits into one page of 8 kB.
    assert max(len(question.body.encode()) for question in questions) < 7500


def test_right_answers_follow_from_the_text():
    for question in paper()[:2]:
        rate, rtt, page = (
            int(re.search(pattern, question.body)[1])
            for pattern in (r"links of (\d+) Mb/s", r"is (\d+) ms", r"weighs (\d+) kB")
        )
        right = question.choices["ABCD".index(question.correct)]
        expected = rate * 1000 / 8 / page if question.number == 1 else rate * rtt / 8
        assert f"{expected:.0f}" in right.split()


@pytest.mark.parametrize("field", ["account", "title", "body"])
@given(st.text(min_size=1))
def test_whatever_a_value_holds_becomes_text_never_markup(field, hostile):
    plain, odd = (Structure(page("question", **{"number": 2, field: x})) for x in ("x", f"<b onclick='{hostile}'>"))
    known = {tag for tag, _ in plain.tags}
    assert {tag for tag, _ in odd.tags} <= known | {"p", "pre"}
    assert not any("onclick" in attributes for _, attributes in odd.tags)


def test_pages_are_well_formed_ascii_and_have_the_words_a_load_test_looks_for_alone():
    rows = [{"number": 1, "title": "T", "choice": None, "correct": "A"}]
    by_words = {
        "Log in to the examination": ("login", {"account": None}),
        "Welcome, student1": ("welcome", {"account": "student1"}),
        "List of questions": ("list", {"questions": rows, "answered": 0, "submitted": False}),
        "Question 2 of 8": ("question", {"number": 2}),
        "Answer saved": ("saved", {"number": 8, "chosen": "A"}),
        "Examination submitted": ("submitted", {"answered": 8}),
        "Your result": ("result", {"questions": rows, "score": 0}),
        "Not Found": ("error", {"reason": "Not Found", "message": "m"}),
    }
    pages = {words: page(name, **values) for words, (name, values) in by_words.items()}
    for words, text in pages.items():
        assert Structure(text).open == []
        assert text.isascii()  # entities instead: text beyond ASCII doubles the time it takes to encode a page
        assert [found for found, each in pages.items() if words in each] == [words]


def test_nginx_is_told_what_4000_students_need():
    text = nginx.configuration(Path("/run/x"), "10.0.0.2:80", Path("/run/app.sock"), buffering=False)
    assert "backlog=4096;" in text and "/var/" not in text
    assert int(re.search(r"worker_connections (\d+);", text)[1]) * 2 <= int(re.search(r"rlimit_nofile (\d+);", text)[1])


@pytest.mark.parametrize(
    ("address", "port", "where"),
    [("10.0.0.2", 80, "10.0.0.2"), ("10.0.0.2", 8080, "10.0.0.2:8080"), ("fd00::2", 80, "[fd00::2]")],
)
def test_the_url_is_what_a_browser_takes(address, port, where):
    assert nginx.Nginx(None, address, Path("/run/x"), Path("/run/app.sock"), port=port).url == f"http://{where}"


def test_a_folder_with_a_quote_cannot_end_a_setting():
    text = postgres.settings(Path("/run/it's"), "10.0.0.3")
    assert "unix_socket_directories = '/run/it''s'" in text
    assert "listen_addresses = '10.0.0.3'" in text
    assert "synchronous_commit = on" in text


def test_the_database_is_told_no_code():
    script = "".join(load_script("-- schema\n", list(students(7, 1)), paper()))
    assert "student00007" in script and not any(student.code in script for student in students(7, 1))
