"""Experiment files: what they say becomes a scenario, and what makes no sense is refused with its line."""

import inspect
import json
import re
import tomllib
from types import SimpleNamespace

import jsonschema
import pytest

from experiments import catalogue
from experiments.claims import check_claims
from experiments.files import network
from experiments.files.keys import InvalidKey, markdown_of, read_table, schema_of
from experiments.files.measures import Measuring
from experiments.files.reading import line_of
from experiments.files.scenario import FileScenario
from experiments.files.tables import Experiment, Measure, Network
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.project import PROJECT
from results.commands.scenarios import question_of
from results.records import ClaimVerdict
from scenarios.command import runner
from scenarios.command.new import main as new
from scenarios.command.options import request_from
from tests.support.made_up_runs import measured
from tests.support.plans import plan_of
from topologies.hosts.routing import addressing
from topologies.testbed.capacity import max_flow

DOCUMENT = (PROJECT / "docs/experiment-files.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)[1]
TEMPLATE = (PROJECT / "experiments/files/template.toml").read_text(encoding="utf-8")


def scenario_of(tmp_path, text: str) -> FileScenario:
    file = tmp_path / "a-test.toml"
    file.write_text(text, encoding="utf-8")
    return catalogue.load(file)


@pytest.mark.parametrize("text", [TEMPLATE, EXAMPLE], ids=["template", "document"])
def test_a_file_is_a_scenario_and_fits_the_schema(tmp_path, text):
    scenario = scenario_of(tmp_path, text)
    assert (scenario.name, scenario.clock) == ("a_test", Clock.VIRTUAL)
    jsonschema.validate(tomllib.loads(text), schema_of(Experiment))
    plan = Plan.from_json(json.loads(json.dumps(plan_of(scenario).as_json())))
    scenario.require(plan)
    again = catalogue.of_plan(scenario.name, plan.settings)
    for cell in plan.cells():
        (value,) = cell.parameters.values()
        topo = again.topology(cell, plan)
        infos = [str(info) for *_, info in topo.links(withInfo=True)]
        assert value.rstrip("s") in f"{again.link_events(cell, plan)} {infos}"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("ready = { port", "redy = { port", "redy", r"there is no key 'redy' in \[run\]\n  did you mean 'ready'"),
        ('host = "server"', 'host = "sever"', 'host = "sever"', "there is no host 'sever'\n  did you mean 'server'"),
        ("--client {server}", "--client {sever}", "{sever}", "no host, interface or parameter 'sever'"),
        ('after = "sink ready"', 'after = "sink redy"', "sink redy", "cannot read 'sink redy'"),
        ('after = "sink ready"', 'after = "snk ready"', "snk ready", "no program 'snk'\n  did you mean 'sink'"),
        ("background = true ", "background = 1 ", "background", "1 is not true or false"),
        ("delay=10ms", "delay=10", "links = [", "delay: cannot read '10'"),
        ('"r1-r2 ', '"r1-r3 ', "links = [", "there is no node 'r3'"),
        ('link = "r1->r2"', 'link = "r1->r4"', "r1->r4", "there is no link 'r1->r4'"),
        ('counter = "drops"', 'counter = "drops"\njson = "a"', 'name = "drops"', "not said what it measures"),
        ('unit = "1"\nlink', "link", 'name = "drops"', "the unit is missing"),
        ('metric = "rtt"', 'metric = "rt"', 'metric = "rt"', "no measure 'rt'\n  did you mean 'rtt'"),
        ('least = "18Mbit"', 'least = "18ms"', 'least = "18ms"', "least: bandwidth: cannot read '18ms'"),
        ('least = "18Mbit"', 'least = "x% of 20Mbit"', "x%", "least: share: cannot read 'x%'"),
        ('queue = "0.2bdp" }', 'queue = "3bdp" }', "3bdp", r"queue never is '3bdp'.*\n  it is one of '0.2bdp'"),
        ('direction = "more"', 'direction = "more"\nleast = 3', "a long queue makes", "give least or most"),
        ('queue = "0.2bdp" }', 'queu = "0.2bdp" }', "queu =", "no parameter 'queu'"),
        ("repeat = 2", "repeat = two", "repeat = two", "Invalid value"),
        ('"0.2bdp", "2bdp"]', '"0.2bdp", 2]', '"0.2bdp", 2]', "values of one kind"),
        ("queue = [", 'client = ["a"]\nqueue = [', 'client = ["a"]', "a host or a folder has this name"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path, old, new, line, message):
    assert old in TEMPLATE
    text = TEMPLATE.replace(old, new, 1)
    with pytest.raises(UsageError, match=message) as refused:
        scenario_of(tmp_path, text)
    expected = next(number for number, content in enumerate(text.splitlines(), start=1) if line in content)
    assert abs(int(re.search(r"a-test.toml:(\d+): ", str(refused.value))[1]) - expected) <= 1


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ('{"end": {}, "error": "unable to connect"}', ": p reports an error: unable to connect"),  # with exit code 0
        *((f'{{"a": {text}}}', "") for text in ("NaN", "-Infinity", "1e999", str(10**400), "[" * 9999, "true")),
    ],
)
def test_what_a_program_prints_is_stored_only_if_it_is_a_number_and_its_error_is_the_reason(tmp_path, printed, reason):
    (out := tmp_path / "out").write_text(printed)
    measuring = Measuring([Measure(name="m", run="p", json="a")], None)
    with pytest.raises(MeasurementFailed, match=f"measure m{reason}"):
        measuring.metrics({"p": SimpleNamespace(stdout=out, stderr=out)}, tmp_path, {"m": "s"})


def test_programs_that_wait_for_each_other_and_names_of_ours_are_refused(tmp_path):
    circle = TEMPLATE.replace("background = true ", 'after = "pings ended" #')
    circle = circle.replace('after = "sink ready"', 'after = "sink ended"')
    with pytest.raises(UsageError, match="wait for each other"):
        scenario_of(tmp_path, circle)
    with pytest.raises(UsageError, match="a scenario of ours is called dtn_mss"):
        scenario_of(tmp_path, f'name = "dtn_mss"\n{TEMPLATE}')
    with pytest.raises(UsageError, match="every run has an option --seed"):
        plan_of(scenario_of(tmp_path, TEMPLATE.replace("queue = [", "seed = [1]\nqueue = [")))
    for value in ("9" * 5000, f"0x{'f' * 5000}", "[" * 9999):
        with pytest.raises(UsageError, match=r"a-test\.toml: "):
            scenario_of(tmp_path, TEMPLATE.replace("repeat = 2", f"repeat = {value}"))


def test_a_parameter_has_an_option_and_a_value_that_makes_no_sense_is_refused_with_its_cell(tmp_path):
    scenario = scenario_of(tmp_path, TEMPLATE)
    plan = plan_of(scenario, "--queue", "1bdp,9p")
    assert plan.axes == {"queue": ("1bdp", "9p")} and plan.repeat == 2
    scenario.require(plan)
    with pytest.raises(UsageError, match=r"queue=1bpd: links: .*cannot read '1bpd'"):
        scenario.require(plan_of(scenario, "--queue", "1bpd"))


def test_a_run_goes_on_only_with_the_file_that_it_began_with(tmp_path):
    plan = plan_of(scenario_of(tmp_path, TEMPLATE))
    with pytest.raises(UsageError, match="the file says something else than when the run began"):
        scenario_of(tmp_path, TEMPLATE.replace("--time 5", "--time 6")).require(plan)


def test_claims_that_do_not_hold_are_refuted_by_the_cells_that_they_name(tmp_path):
    """Those of the museum hold (test_museum.py)."""
    cells = [
        measured({"queue": queue}, repetition, goodput=rate, rtt=rtt + repetition / 1e3)
        for queue, rate, rtt in (("0.2bdp", 19e6, 50.0), ("2bdp", 9e6, 20.0))
        for repetition in (1, 2)
    ]
    scenario = scenario_of(tmp_path, TEMPLATE.replace("18Mbit", "90% of 20Mbit"))
    claims = check_claims(scenario.claims, cells, "quick")
    assert [claim.verdict for claim in claims] == [ClaimVerdict.NOT_REPRODUCED] * 2
    assert claims[0].paper == "at least 18 Mbit/s" and claims[1].paper.startswith("more than with queue 0.2bdp (")


def test_a_stored_run_has_its_question_without_the_file(store, tmp_path):
    plan = plan_of(scenario_of(tmp_path, TEMPLATE)).as_json()
    known, broken = store.begin_run("a_test", plan, {}, "x"), {**plan, "settings": {"file": {"run": 1}, "folder": 3}}
    assert question_of(store.run(known)).startswith("what does a shorter queue cost")
    assert question_of(store.run(store.begin_run("a_test", broken, {}, "x"))) == ""


@pytest.mark.parametrize("words", ["--clock real", "--scale 1", "--machine here", "--resume latest", "--json"])
def test_both_clocks_are_those_of_this_machine_and_nothing_else(tmp_path, words):
    with pytest.raises(UsageError, match=f"{words.split()[0]}: --both-clocks measures two new runs, on this machine"):
        request_from(scenario_of(tmp_path, TEMPLATE), ["--both-clocks", *words.split()])


def test_both_clocks_are_refused_before_anything_is_measured_where_one_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("FLIGHTPATH_CACHE", str(tmp_path))  # there is no virtual-time kernel
    scenario, folder = scenario_of(tmp_path, TEMPLATE), tmp_path / "runs"
    with pytest.raises(SystemExit) as ended:
        runner.main(scenario, ["--both-clocks", "--results", str(folder)])
    assert ended.value.code == 3 and not folder.exists()


def test_new_writes_the_template_once_and_prints_schema_and_keys(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    assert new(["experiment", str(file)]) == 0 and file.read_text(encoding="utf-8") == TEMPLATE
    assert new(["experiment", str(file)]) == 2 and "exists already" in capsys.readouterr().err
    assert new(["experiment", str(tmp_path / "mine")]) == 2
    capsys.readouterr()
    assert new(["experiment", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError, match="redy"):
        jsonschema.validate(tomllib.loads(TEMPLATE.replace("ready = {", "redy = {")), schema)


def test_the_document_has_all_keys():
    assert "\n".join(markdown_of(Experiment)) in DOCUMENT, "flightpath new experiment --keys prints them"


@pytest.mark.parametrize(
    ("where", "line"),
    [((), 1), (("b",), 5), (("a", 1, "x"), 8), (("a", 1, "y"), 7), (("t", "k"), 10), (("t", "k", "inner"), 10)],
)
def test_a_key_is_found_in_its_table(where, line):
    assert line_of('[[a]]\nx = """\nx = 1\n"""\n[b]\n\n[[a]]\nx = 2\n[t]\nk.inner = 3\n', where) == line


def test_subnets_follow_links_and_routes_shortest_paths():
    links = [(("h1", 0), ("s1", 1)), (("s1", 2), ("r1", 0)), (("s1", 3), ("r2", 0)), (("r2", 1), ("h2", 0))]
    plan = addressing([*links, (("r1", 1), ("r2", 2))], ["s1"], ["r1", "r2"])
    assert plan.addresses["r2"][0] == ("10.0.1.3/24", "fd00:1::3/64")
    assert plan.addresses["h2"][0][0] == "10.0.2.2/24"
    routes = {route.network: route.gateway for route in plan.routes["h1"]}
    to_h2, between = {"10.0.2.0/24": "10.0.1.3", "fd00:2::0/64": "fd00:1::3"}, {"10.0.3.0/24": "10.0.1.2"}
    assert routes == {**to_h2, **between, "fd00:3::0/64": "fd00:1::2"}


def test_a_network_carries_what_all_paths_together_carry():
    near, far = {"x": 10.0, "y": 5.0}, {"x": 4.0, "y": 9.0}
    both_ways = {"a": near, "b": far, **{name: {"a": near[name], "b": far[name]} for name in near}}
    assert max_flow(both_ways, "a", "b") == 9.0
    assert max_flow(both_ways, "a", "b", closed=["y"]) == 4.0


def test_the_class_of_a_python_file_names_its_file_which_the_virtual_time_kernel_is_told(tmp_path):
    (file := tmp_path / "own.py").write_text("from scenarios.dtn_mss import DtnMss\nclass Own(DtnMss): name = 'own'\n")
    assert inspect.getfile(type(catalogue.load(file))) == str(file)


LINKS = ["h1-r1", "r1-r2", "r1-r3", "r3-r2", "r2-h2"]
SQUARE = {"hosts": ["h1", "h2"], "routers": ["r1", "r2", "r3"], "links": LINKS}


def routes_of(node: str, **keys: object) -> dict[str, str]:
    """The gateways of a node's routes, by their networks."""
    topo = network.topology(read_table(Network, {**SQUARE, **keys}))
    return {route.network: route.gateway for route in topo.nodeInfo(node)["routes"]}


def test_a_route_takes_the_place_of_the_shortest_and_leaves_all_others():
    shortest, own = routes_of("r1"), routes_of("r1", routes=["r1 h2 via r3"])
    assert (shortest["10.0.5.0/24"], own["10.0.5.0/24"]) == ("10.0.2.2", "10.0.3.2")
    assert own["fd00:5::/64"] == "fd00:3::2"
    changed = {network for network in own.keys() | shortest.keys() if own.get(network) != shortest.get(network)}
    assert changed == {"10.0.5.0/24", "fd00:5::/64", "fd00:5::0/64"}, "the last is the shortest one's"


def test_a_route_leads_to_a_prefix_an_interface_or_everywhere():
    routes = routes_of("r1", routes=["r1 10.9.0.0/16 via r3", "r1 default via r2-eth0", "r1 r3-eth1 via r2"])
    assert routes["10.9.0.0/16"] == "10.0.3.2"
    assert (routes["0.0.0.0/0"], routes["::/0"]) == ("10.0.2.2", "fd00:2::2")
    assert (routes["10.0.4.0/24"], routes["fd00:4::/64"]) == ("10.0.2.2", "fd00:2::2")


def test_of_several_routes_that_fit_the_longest_prefix_is_the_way_of_the_testbed_too():
    topo = network.topology(read_table(Network, {**SQUARE, "routes": ["h1 default via r1", "r1 10.0.0.0/8 via r3"]}))
    metrics = {route.network: route.metric for route in topo.nodeInfo("r1")["routes"]}
    assert metrics["10.0.5.0/24"] < metrics["10.0.0.0/8"]
    metrics = {route.network: route.metric for route in topo.nodeInfo("h1")["routes"]}
    assert metrics["10.0.5.0/24"] < metrics["0.0.0.0/0"]


@pytest.mark.parametrize(("family", "has", "has_not"), [("ipv4", ".", ":"), ("ipv6", ":", ".")])
def test_one_family_leaves_nothing_of_the_other(family, has, has_not):
    topo = network.topology(read_table(Network, {**SQUARE, "family": family, "routes": ["r1 h2 via r3"]}))
    for node in topo.hosts():
        info = topo.nodeInfo(node)
        texts = [text for texts in info["addresses"].values() for text in texts]
        texts += [text for route in info["routes"] for text in (route.network, route.gateway)]
        assert texts and all(has in text and has_not not in text for text in texts)
    assert has in network.addresses(topo)["h2"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"routes": ["r1 to h2"]}, "routes: 'r1 to h2': cannot read it"),
        ({"routes": ["r9 h2 via r3"]}, "there is no host or router 'r9'"),
        ({"routes": ["r1 h2-eth3 via r3"]}, "there is no interface 'h2-eth3'"),
        ({"routes": ["r1 10.0.5.1/24 via r3"]}, "has host bits set"),
        ({"routes": ["h1 h2 via r3"]}, "r3 is not next to h1"),
        ({"routes": ["r1 h2 via r1"]}, "r1 is not next to r1"),
        ({"routes": ["r1 h1 via r3"]}, "r1 has an interface in 10.0.1.0/24, and needs no route to it"),
        ({"routes": ["r1 h2 via r3", "r1 10.0.5.0/24 via r2"]}, "r1 has two routes to 10.0.5.0/24"),
        ({"routes": ["r1 10.9.0.0/16 via r3"], "family": "ipv6"}, "r3 has no address of that family"),
        ({"family": "ipv5"}, "family: there is no 'ipv5'"),
    ],
)
def test_a_route_or_family_that_makes_no_sense_is_refused_in_a_sentence(keys, said):
    with pytest.raises(InvalidKey, match=said) as refused:
        routes_of("r1", **keys)
    assert "\n" not in str(refused.value.args[0])


def test_a_topology_by_name_has_its_own_addresses_and_routes():
    for keys in ({"routes": ["dtn1 dtn2 via s1"]}, {"family": "ipv6"}):
        with pytest.raises(InvalidKey, match="dtn_pair has its own addresses and routes"):
            read_table(Network, {"topology": "dtn_pair", **keys})
