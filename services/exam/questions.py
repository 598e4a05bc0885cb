"""The questions of the examination: generated case studies about networks, long enough to be realistic pages.

A question describes a campus network and its measurements, and its answer follows from the numbers in the text. The
same question number gives the same text on every machine.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

COUNT = 8
BODY_BYTES = 6081
"""Default mean size of a question's text, in bytes."""

_ROW_BYTES = 52
_TOWNS = ("Ashbourne", "Bellingham", "Corbridge", "Dunkeld", "Elsdon", "Felling", "Giggleswick", "Hexham")


@dataclass(frozen=True)
class Question:
    """One question: paragraphs of text (separated by empty lines), four choices, and the letter of the right one."""

    number: int
    title: str
    body: str
    choices: tuple[str, ...]
    correct: str


@dataclass(frozen=True)
class _Campus:
    """The numbers of one case study."""

    town: str
    students: int
    rate_mbps: int
    rtt_ms: int
    page_kb: int


def paper(body_bytes: int = BODY_BYTES) -> list[Question]:
    """Returns the eight questions of the examination, each with about `body_bytes` of text.

    A longer text has a longer record of measurements; the shortest has neither record nor story.
    """
    return [_question(number, body_bytes) for number in range(1, COUNT + 1)]


def _question(number: int, body_bytes: int) -> Question:
    source = random.Random(f"question {number}")
    campus = _Campus(
        town=_TOWNS[number - 1],
        students=source.randrange(18, 60) * 100,
        rate_mbps=source.choice((20, 50, 100, 200)),
        rtt_ms=source.choice((10, 20, 30, 40)),
        page_kb=source.choice((8, 10, 12, 16)),
    )
    title, asks, *choices = _tasks(campus)[number - 1]
    right = choices[0]
    source.shuffle(choices)
    body = "\n\n".join([*_exhibits(campus, source, body_bytes - len(asks)), asks])
    return Question(number, title, body, tuple(choices), "ABCD"[choices.index(right)])


def _exhibits(campus: _Campus, source: random.Random, max_bytes: int) -> Iterator[str]:
    """Yields the paragraphs of the story that fit, and a record of measurements that fills the rest."""
    for paragraph in _story(campus):
        if (max_bytes := max_bytes - len(paragraph) - 2) < 0:
            return
        yield paragraph
    if (rows := round(max_bytes / _ROW_BYTES) - 1) > 0:
        yield _log(campus, source, rows)


def _story(campus: _Campus) -> list[str]:
    return [
        f"The college at {campus.town} moved its examinations online three years ago. At the first sitting of the"
        f" winter term {campus.students} students log in within a few minutes, read the same eight questions, and save"
        " an answer every minute or two. The web server stands in the library building, and the database that keeps"
        " the answers stands in the computing centre on the other side of the river, where it is backed up each night."
        " Nobody had planned for the day on which both buildings would be full at the same hour.",
        f"Between the buildings run two links of {campus.rate_mbps} Mb/s each, laid along different streets so that one"
        f" digger cannot cut both. The round-trip time over either of them is {campus.rtt_ms} ms. Switches in both"
        " buildings are steered by one OpenFlow controller, which the network group wrote for its own teaching and has"
        " kept in service since. Hosts in both buildings have two network cards, one towards each link, and an"
        " address of its own on every card.",
        f"A page of the examination weighs {campus.page_kb} kB with all its headers. Students' browsers keep their"
        " connection open between pages, as HTTP/1.1 lets them, so that the handshake is paid once. An answer counts"
        " as saved when the database has committed it, and not before; a student who sees the confirmation may close"
        " the laptop and go home. Last year a few did see it although the database had never heard of their answer,"
        " and the college has been careful about the difference ever since.",
        "During a rehearsal the network group let a load generator play the students and wrote down, every ten seconds,"
        " how many requests were offered, how many were answered, how long the slower half of them took, and how many"
        " packets the busier of the two links had dropped. The record of the rehearsal follows; times are counted from"
        " its beginning, and the generator was told to add students at a steady pace until the record ends.",
        "In what follows, a kilobyte (kB) is 1000 bytes and a megabit (Mb) is 10^6 bits, as is usual for links. Sizes"
        " include the headers of Ethernet, IP and TCP. Processing takes no time on any of the hosts, and no packet is"
        " lost except where a queue is full. Work with the figures of the text rather than with those of the record,"
        " which were measured and vary a little; the record is there to check whether your answer is plausible.",
    ]


def _log(campus: _Campus, source: random.Random, count: int) -> str:
    capacity = campus.rate_mbps * 1000 / (8 * campus.page_kb)
    rows = ["   time   offered/s  answered/s   median ms   drops"]
    for row in range(count):
        offered = capacity * (0.3 + 1.1 * row / count) * source.uniform(0.97, 1.03)
        answered = min(offered, capacity * source.uniform(0.93, 0.99))
        median = campus.rtt_ms * 1.4 + max(0.0, offered / capacity - 0.9) * 900 * source.uniform(0.8, 1.2)
        drops = max(0, round((offered - answered) * source.uniform(0.1, 0.3)))
        rows.append(f"{row * 10:5d} s {offered:11.0f} {answered:11.0f} {median:11.0f} {drops:7d}")
    return "\n".join(rows)


def _tasks(campus: _Campus) -> list[tuple[str, ...]]:
    """Returns topic, question, right answer and three wrong ones of each question."""
    saturation = campus.rate_mbps * 1000 / (8 * campus.page_kb)
    window_kb = campus.rate_mbps * campus.rtt_ms / 8
    answered = campus.students // 10
    under_way = answered * campus.rtt_ms * 4 / 1000
    return [
        (
            "Where one link saturates",
            "Assume that every request is answered with one page of the stated size, that all of them travel over one"
            " of the two links, and that acknowledgements and requests, which go the other way, cost nothing in this"
            " direction. At how many answered requests per second is the link full?",
            *(f"About {saturation * factor:.0f} requests per second" for factor in (1, 0.125, 2, 8)),
        ),
        (
            "The window that fills a path",
            "A backup of the database runs at night, when nothing else is on the links, over a single TCP connection"
            " and one link. How much data must that connection be allowed to have in flight, sent but not"
            " acknowledged, for the link never to fall idle, if the queues in front of it stay empty?",
            *(f"{window_kb * factor:.0f} kB" for factor in (1, 0.5, 8)),
            f"{campus.rate_mbps * 1000 / campus.rtt_ms:.0f} kB",
        ),
        (
            "Requests under way",
            f"At one moment of the rehearsal the server answers {answered} requests per second, and each of them has"
            f" been under way for {campus.rtt_ms * 4} ms on average when its answer arrives. The load is steady. By"
            " Little's law, how many requests are under way at a time, on average?",
            f"{under_way:.0f}",
            f"{under_way * 10:.0f}",
            f"{answered / (campus.rtt_ms * 4):.1f}",
            f"{under_way / 2 + 1:.0f}",
        ),
        (
            "Two paths, one connection",
            "The college turns on Multipath TCP on the web server and on the load generator, each of which has two"
            " addresses, one per link, with a routing table for each. Both links are otherwise empty. The rehearsal is"
            " repeated with more students than before. What should the record show where it showed a full link before?",
            "Answers per second keep following the offer until both links together are full",
            "Nothing changes, because one TCP connection always stays on one path",
            "Answers per second double from the first row on, however few requests are offered",
            "The median time doubles, because every packet is sent over both links",
        ),
        (
            "A result too close to the old one",
            "After Multipath TCP had been turned on, one repetition showed the same figures as plain TCP, to within"
            " one per cent. All programs had reported success. Which observation would tell the network group best"
            " whether the connections of that repetition had really used Multipath TCP?",
            "The kernel's counters of MP_CAPABLE and MP_JOIN handshakes and of fallbacks, read before and after",
            "A ping over each of the two links while the rehearsal runs",
            "The version of the kernel, which must be recent enough",
            "The number of requests that failed, which must not be zero",
        ),
        (
            "When an answer is saved",
            "The application answers a student's form in four steps: it receives the choice, sends it to the database,"
            " hears that the transaction has committed, and sends the page that says so. The connection between the"
            " browser and the web server may break at any moment. What may a student conclude who sees no"
            " confirmation?",
            "Nothing: the answer may be saved or not, and saving the same choice again does no harm",
            "The answer was not saved and is lost",
            "The answer was saved, since the form had been sent",
            "The answer will be saved as soon as the connection is there again",
        ),
        (
            "The queue before the bottleneck",
            f"The switch in front of each link keeps up to {campus.rate_mbps * 50 // 8} kB waiting and drops what"
            " arrives beyond that. When the link is overloaded for a while, its queue is full almost all the time. How"
            " much longer than over an empty link does a packet then take that is not dropped?",
            "About 50 ms longer",
            "About 5 ms longer",
            "About 400 ms longer",
            "No longer, since packets beyond the queue are dropped",
        ),
        (
            "What the controller can see",
            "The controller is to send the two subflows of each Multipath TCP connection over different links. A new"
            " subflow announces itself in its first packet by a TCP option of kind 30 that carries a token. OpenFlow"
            " has no field for TCP options. How can the controller learn to which connection a subflow belongs?",
            "It has the first packets of new flows sent to it, parses their options, and installs a rule per subflow",
            "It reads the token from the flow statistics of the switches",
            "It matches the token as part of the Ethernet type",
            "It cannot: subflows look like separate connections to anyone but the two ends",
        ),
    ]
