"""Hints for unknown words: the known word that is nearest in spelling, or all known words."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], listed: str = "") -> str:
    """A hint for an error about an unknown word: `did you mean 'codel'? known: codel, droptail, fq_codel`.

    After the guess it says `listed` instead, if there are too many known words to list.
    """
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return guess + (listed or f"known: {', '.join(words) or 'none'}")
