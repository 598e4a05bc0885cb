"""The test plan as JMeter and the probe need it: counted and checked element by element."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest

from flightpath.project import PROJECT

PLAN = PROJECT / "scenarios" / "web_load" / "load.jmx"
EXPECTED = {
    "log in": ("POST", "/login", "Welcome, ${account}"),
    "list of questions": ("GET", "/questions", "List of questions"),
    "question": ("GET", "/questions/${question}", "Question ${question} of 8"),
    "save answer": ("POST", "/questions/${question}/answer", "Answer saved"),
    "submit": ("POST", "/submit", "Examination submitted"),
    "result": ("GET", "/result", "Your result"),
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
    tree: ElementTree.Element, times: int = 1
) -> Iterator[tuple[ElementTree.Element, ElementTree.Element, int]]:
    """Each sampler with what is below it and how often a student gets to it."""
    for element, below in children(tree):
        if element.tag == "HTTPSamplerProxy":
            yield element, below, times
        loops = int(prop(element, "LoopController.loops") or 1) if element.tag == "LoopController" else 1
        yield from samplers(below, times * loops)


def test_a_student_makes_twenty_requests(plan):
    counts = {sampler.get("testname"): times for sampler, _, times in samplers(plan.find("hashTree"))}
    assert counts == {**dict.fromkeys(EXPECTED, 1), "question": 8, "save answer": 8}
    assert sum(counts.values()) == 20
    group = plan.find(".//ThreadGroup")
    assert prop(group.find("elementProp"), "LoopController.loops") == "1"
    assert prop(group, "ThreadGroup.on_sample_error") == "continue"


def test_each_page_is_asked_for_and_checked(plan):
    found = {}
    for sampler, below, _ in samplers(plan.find("hashTree")):
        (assertion,) = below.findall("ResponseAssertion")
        assert prop(assertion, "Assertion.test_field") == "Assertion.response_data"
        assert prop(assertion, "Assertion.test_type") == "16"  # substring
        (text,) = assertion.findall("./collectionProp/stringProp")
        found[sampler.get("testname")] = (
            prop(sampler, "HTTPSampler.method"),
            prop(sampler, "HTTPSampler.path"),
            text.text,
        )
        assert prop(sampler, "HTTPSampler.use_keepalive") == "true"
        assert prop(sampler, "HTTPSampler.follow_redirects") == prop(sampler, "HTTPSampler.auto_redirects") == "false"
        assert prop(sampler, "HTTPSampler.image_parser") in (None, "false")
    assert found == EXPECTED


def test_the_status_of_every_page_is_checked(plan):
    group = next(
        below for tree in plan.iter("hashTree") for element, below in children(tree) if element.tag == "ThreadGroup"
    )
    (assertion,) = group.findall("ResponseAssertion")
    assert prop(assertion, "Assertion.test_field") == "Assertion.response_code"
    assert prop(assertion, "Assertion.test_type") == "8"  # equals
    assert [text.text for text in assertion.findall("./collectionProp/stringProp")] == ["200"]


def test_timeouts_cookies_and_accounts(plan):
    defaults = plan.find(".//ConfigTestElement")
    assert prop(defaults, "HTTPSampler.connect_timeout") == "${connect_timeout_ms}"
    assert prop(defaults, "HTTPSampler.response_timeout") == "${response_timeout_ms}"
    assert prop(defaults, "HTTPSampler.implementation") == "HttpClient4"
    assert plan.find(".//CookieManager") is not None and plan.find(".//CacheManager") is None
    accounts = plan.find(".//CSVDataSet")
    assert (prop(accounts, "recycle"), prop(accounts, "stopThread")) == ("false", "true")
    assert prop(accounts, "variableNames") == "account,code"


def test_every_sampler_is_paced_by_exactly_one_timer(plan):
    def timers(tree: ElementTree.Element, above: int) -> Iterator[tuple[str, int]]:
        here = above + len(tree.findall("ConstantTimer"))
        for element, below in children(tree):
            if element.tag == "HTTPSamplerProxy":
                yield element.get("testname"), here + len(below.findall("ConstantTimer"))
            else:
                yield from timers(below, here)

    assert dict(timers(plan.find("hashTree"), 0)) == dict.fromkeys(EXPECTED, 1)


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
