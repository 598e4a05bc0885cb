"""Hints for words that are not known: the nearest known word, or all of them."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], listed: str = "") -> str:
    """A hint for an error about an unknown word: `did you mean 'codel'? known: codel, droptail, fq_codel`.

    Args:
        word: that was not understood.
        known: all words that are.
        listed: what to say after the guess instead of all known words, where these are too many.
    """
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return guess + (listed or f"known: {', '.join(words) or 'none'}")
