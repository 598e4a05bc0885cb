"""Hints for misspelt words."""

import difflib
from collections.abc import Iterable


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
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)
