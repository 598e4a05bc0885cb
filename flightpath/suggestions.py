"""Hints for misspelt words."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], listed: str = "") -> str:
    """Returns a hint for an unknown word: `did you mean 'codel'? known: codel, droptail, fq_codel`.

    `listed` takes the place of the list, for too many known words.
    """
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return guess + (listed or f"known: {', '.join(words) or 'none'}")
