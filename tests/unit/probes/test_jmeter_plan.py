"""What a real JMeter does not show of the test plan: a check on each page, and nothing that costs."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest

from flightpath.project import PROJECT

PLAN = PROJECT / "scenarios" / "web_load" / "load.jmx"
REQUESTS = {  # method, path, the words that must be on the page, and how often a student asks
    "log in": ("POST", "/login", "Welcome, ${account}", 1),
    "list of questions": ("GET", "/questions", "List of questions", 1),
    "question": ("GET", "/questions/${question}", "Question ${question} of 8", 8),
    "save answer": ("POST", "/questions/${question}/answer", "Answer saved", 8),
    "submit": ("POST", "/submit", "Examination submitted", 1),
    "result": ("GET", "/result", "Your result", 1),
}


@pytest.fixture(scope="module")
def plan() -> ElementTree.Element:
    return ElementTree.parse(PLAN).getroot()


def prop(element: ElementTree.Element, name: str) -> str | None:
    found = element.find(f"./*[@name='{name}']")
    return None if found is None else found.text or ""


def children(tree: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, ElementTree.Element]]:
    """Each element of a hashTree with the hashTree of what is below it."""
    items = list(tree)
    yield from zip(items[::2], items[1::2], strict=True)


def samplers(
    tree: ElementTree.Element, times: int = 1, timers: int = 0
) -> Iterator[tuple[ElementTree.Element, ElementTree.Element, int, int]]:
    """Each sampler with what is below it, how often a student gets to it, and the timers that pace it."""
    timers += len(tree.findall("ConstantTimer"))
    for element, below in children(tree):
        if element.tag == "HTTPSamplerProxy":
            yield element, below, times, timers + len(below.findall("ConstantTimer"))
        else:
            loops = int(prop(element, "LoopController.loops") or 1) if element.tag == "LoopController" else 1
            yield from samplers(below, times * loops, timers)


def checked(tree: ElementTree.Element, field: str, kind: str) -> list[str]:
    """The texts of the one assertion that is directly in a tree: what of a response it looks at, and how."""
    (assertion,) = tree.findall("ResponseAssertion")
    assert prop(assertion, "Assertion.test_field") == f"Assertion.{field}"
    assert prop(assertion, "Assertion.test_type") == kind
    return [text.text for text in assertion.findall("./collectionProp/stringProp")]


def test_a_student_makes_twenty_requests_each_paced_by_one_timer_and_checked(plan):
    found = {}
    for sampler, below, times, timers in samplers(plan.find("hashTree")):
        method, path = prop(sampler, "HTTPSampler.method"), prop(sampler, "HTTPSampler.path")
        (text,) = checked(below, "response_data", "16")  # a substring
        found[sampler.get("testname")] = (method, path, text, times)
        assert timers == 1
        assert prop(sampler, "HTTPSampler.use_keepalive") == "true"
        assert prop(sampler, "HTTPSampler.follow_redirects") == prop(sampler, "HTTPSampler.auto_redirects") == "false"
        assert prop(sampler, "HTTPSampler.image_parser") in (None, "false")
    assert found == REQUESTS
    assert sum(times for *_, times in found.values()) == 20


def test_nothing_costly_is_in_it(plan):
    forbidden = ("JSR223", "BeanShell", "Listener", "ResultCollector", "Summariser", "RegexExtractor")
    assert not [element.tag for element in plan.iter() if element.tag.startswith(forbidden)]
    assert not re.search(r"__groovy|__BeanShell|__javaScript", PLAN.read_text())
