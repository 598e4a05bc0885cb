"""Hints for misspelt words."""

from collections.abc import Iterable
from importlib import import_module


def did_you_mean(word: str, known: Iterable[str], listed: str = "") -> str:
    """Returns a hint for an unknown word: `did you mean 'codel'? known: codel, droptail, fq_codel`.

    `listed` takes the place of the list, for too many known words.
    """
    words = list(known)
    near = nearest(word, words)
    guess = f"did you mean {near!r}? " if near else ""
    return guess + (listed or f"known: {', '.join(words) or 'none'}")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word of which another one is probably a misspelling; None if no word is near."""
    difflib = import_module("difflib")  # takes as long to load as the help takes to print
    near: list[str] = difflib.get_close_matches(word, list(known), n=1)
    return near[0] if near else None
