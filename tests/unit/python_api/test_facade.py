"""`import flightpath`: the names that it has."""

import ast

import pytest

import flightpath
from flightpath.project import PROJECT


def declared_for_type_checkers() -> set[str]:
    tree = ast.parse((PROJECT / "flightpath" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {name.name for statement in block.body for name in statement.names}


def test_each_public_name_is_there_and_explained_without_words_of_the_inside():
    assert {"Network", "Run", "load", "run"} <= set(flightpath.__all__)
    for name in flightpath.__all__:
        public = getattr(flightpath, name)
        assert public.__doc__, name
        texts = [public.__doc__, *(it.__doc__ or "" for key, it in vars(public).items() if not key.startswith("_"))]
        assert "sandbox" not in " ".join(texts).lower(), name
    assert set(flightpath.__all__) <= set(dir(flightpath))


def test_type_checkers_see_the_same_names():
    assert declared_for_type_checkers() == set(flightpath.__all__)
    assert all((PROJECT / package / "py.typed").exists() for package in ("flightpath", "python_api"))


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = flightpath.lod
