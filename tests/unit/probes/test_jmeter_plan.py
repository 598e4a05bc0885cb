"""The test plan as JMeter and the probe need it: counted and checked element by element."""

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


def test_a_student_goes_through_it_once_whatever_fails_and_every_status_is_checked(plan):
    ((group, below),) = [
        pair for tree in plan.iter("hashTree") for pair in children(tree) if pair[0].tag == "ThreadGroup"
    ]
    assert prop(group.find("elementProp"), "LoopController.loops") == "1"
    assert prop(group, "ThreadGroup.on_sample_error") == "continue"
    assert checked(below, "response_code", "8") == ["200"]  # equals


def test_timeouts_cookies_and_accounts(plan):
    defaults = plan.find(".//ConfigTestElement")
    assert prop(defaults, "HTTPSampler.connect_timeout") == "${connect_timeout_ms}"
    assert prop(defaults, "HTTPSampler.response_timeout") == "${response_timeout_ms}"
    assert prop(defaults, "HTTPSampler.implementation") == "HttpClient4"
    assert plan.find(".//CookieManager") is not None and plan.find(".//CacheManager") is None
    accounts = plan.find(".//CSVDataSet")
    assert (prop(accounts, "recycle"), prop(accounts, "stopThread")) == ("false", "true")
    assert prop(accounts, "variableNames") == "account,code"


def test_every_parameter_is_a_property_with_a_default(plan):
    variables = plan.find(".//TestPlan/elementProp/collectionProp")
    values = {prop(variable, "Argument.name"): prop(variable, "Argument.value") for variable in variables}
    for name, value in values.items():
        assert value.startswith(f"${{__P({name},") and re.fullmatch(r"\$\{__P\(\w+,[^,)]+\)\}", value)
    asked = set(re.findall(r"\$\{(\w+)\}", PLAN.read_text()))
    set_by_the_plan_or_jmeter = {"account", "code", "question", "due_ms"} | {"__threadNum"}
    assert asked == set(values) | set_by_the_plan_or_jmeter


def test_nothing_costly_is_in_it(plan):
    forbidden = ("JSR223", "BeanShell", "Listener", "ResultCollector", "Summariser", "RegexExtractor")
    assert not [element.tag for element in plan.iter() if element.tag.startswith(forbidden)]
    assert not re.search(r"__groovy|__BeanShell|__javaScript", PLAN.read_text())
