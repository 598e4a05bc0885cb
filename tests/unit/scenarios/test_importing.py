"""Networks of other tools as experiment files: what is read, what is named as left out, and what is refused."""

import tomllib

import pytest

from experiments.files import network
from experiments.files.reading import experiment
from flightpath.project import PROJECT
from scenarios.command import importing

READ = {
    "lab.clab.yml": (
        {"hosts": ["client_1", "a_server_"], "routers": ["r1", "r2"], "switches": ["lan"]},
        ["client_1-lan", "lan-r1", "r1-r2", "r2-a_server_"],
        ["outside", "mtu of the link r1 to r2", "r1 to outside", "exec of client-1", "r2: the kind nokia_srlinux"],
    ),
    "topology.yaml": (
        {"hosts": ["h1", "h2"], "routers": ["r1", "r2"], "switches": ["lan1"]},
        ["r1-r2", "r1-r2 bandwidth=5Mbit delay=10ms loss=1.5%", "r1-h1", "r2-lan1", "h2-lan1", "r1-lan1"],
        ["left out: module", "r1-r2: bandwidth", "the stub link of h1", "nothing is linked to them: unlinked"],
    ),
    "net.mn": (
        {"hosts": ["h1", "web"], "routers": ["r3"], "switches": ["s1"]},
        ["h1-s1 bandwidth=10Mbit delay=5ms queue=100p", "s1-r3", "r3-web loss=1%"],
        ["ip of h1", "the controllers"],
    ),
    "star.py --topo star,3": (
        {"hosts": ["h1", "h2", "h3"], "switches": ["s1"]},
        [f"h{n}-s1 bandwidth={n}0Mbit delay=2ms" for n in (1, 2, 3)],
        [],
    ),
    "zoo.gml": (
        {"hosts": ["h_budapes", "h_wien_1", "h_wien_2"], "routers": ["budapest", "wien_1", "wien_2"]},
        [
            *("budapest-wien_1 bandwidth=10Gbit delay=1.069ms", "budapest-wien_1 delay=3ms", "wien_1-wien_2"),
            *("h_budapes-budapest", "h_wien_1-wien_1", "h_wien_2-wien_2"),
        ],
        ["each node has a host of ours"],
    ),
    "two.graphml": ({"hosts": ["h_a", "h_b"], "routers": ["a", "b"]}, ["a-b bandwidth=5Mbit", "h_a-a", "h_b-b"], []),
}


@pytest.mark.parametrize("name", READ)
def test_a_network_becomes_an_experiment_file_that_names_what_is_left_out(name, capsys, monkeypatch):
    nodes, links, notes = READ[name]
    monkeypatch.chdir(PROJECT / "tests/data/importing")
    assert importing.main(name.split()) == 0
    text = capsys.readouterr().out
    read = experiment(tomllib.loads(text), {})
    kinds = {kind: list(getattr(read.network, kind)) for kind in ("hosts", "routers", "switches")}
    assert {kind: names for kind, names in kinds.items() if names} == nodes
    assert list(read.network.links) == links
    comments = [line for line in text.splitlines() if line.startswith("# ")]
    assert all(any(note in line for line in comments) for note in notes), comments
    assert len(network.topology(read.network).links()) == len(links)


def test_the_example_is_written_once_and_not_over_a_file_that_is_there(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [str(PROJECT / "examples/routers.clab.yml"), "--output", "mine.toml"]
    assert importing.main(words) == 0 and "flightpath run mine.toml" in capsys.readouterr().err
    assert tomllib.loads((tmp_path / "mine.toml").read_text())["network"]["routers"] == ["r1", "r2"]
    (tmp_path / "mine.toml").write_text("mine")
    assert importing.main(words) == 2 and "exists already" in capsys.readouterr().err
    assert (tmp_path / "mine.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.yml", "topology: {nodes: {a: , b: }, links: [3]}", "x.yml is not as its tool writes it"),
        ("x.yml", "topology: {nodes: {}}", "no nodes"),
        ("x.yml", "a: b", "neither containerlab's"),
        ("x.yml", "a: [", "no YAML: line 1: expected the node content"),
        ("x.yml", "a: \x07", "no YAML: unacceptable character"),
        ("x.yml", "nodes: [a, b]\nlinks: [a-c]", "ends at 'c'"),
        ("x.yml", "nodes: [a, b]\nlinks: [{a: , b: , tc: {delay: long}}]", "'long'"),
        ("x.mn", "{", "x.mn is not as its tool writes it"),
        ("x.mn", '{"hosts": [], "switches": [], "links": [{"src": "a", "dest": "b"}]}', "ends at 'a'"),
        ("x.gml", "nothing", "is no graph"),
        ("x.gml", "graph [ node [ id 0 ] ]", "the file has 1 host"),
        ("x.graphml", "<graphml", "x.graphml"),
        ("x.py", "", "needs one"),
        ("x.txt", "", "this kind of file"),
    ],
)
def test_what_is_no_such_file_is_refused_with_its_name(name, content, said, tmp_path, capsys):
    (tmp_path / name).write_text(content)
    assert importing.main([str(tmp_path / name)]) == 2
    refusal, *hints = capsys.readouterr().err.splitlines()
    assert said in refusal and all(hint.startswith("  ") for hint in hints)
