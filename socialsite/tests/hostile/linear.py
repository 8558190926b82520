"""Measure whether the time of a function grows linearly with the length of a hostile text.

The time is CPU time of the thread, the best of several runs, so that other load on the machine does
not count. Times below FLOOR are noise and are not compared.
"""

import gc
import math
import string
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import AnyStr
from urllib.parse import urlsplit

FLOOR = 0.002
RATIO = 3.0
TRIES = 15
# `make chaos ARGS=linear` measures this many generators to the end; `make test` measures fewer, and
# no longer texts than one that takes 20 ms.
SLOWEST = 10
SLOWEST_QUICK, ENOUGH = 4, 0.02
STANDS_OUT = 2000  # characters

Makers = Iterable[tuple[str, Callable[[int], AnyStr]]]

# Units that texts repeat: punctuation; beginnings of an address, a name, a tag or an entity; nested
# brackets, quotes and escapes; combining letters; percent-encoding; Chinese.
UNITS = [
    *string.punctuation,
    *(" ", "\n", "\t", "a", "1", "好", "\u200b", "\u0301", "\u0301\u0327", "\ufdfa"),
    *("://", "&amp;", "&#", "[]", "()", "([{", "}])", "<>", "<a ", "[[a", "@a", "#a", "a@", "#好"),
    *("a.", "a-", "a_", "a+", "a/", "a:", "a,", "a;", "a=b&", "a=b;", "%41", "%", "\\a", '\\"'),
    *(';"', '";', "' ", '" ', "a'", "(a)", "*_", "--", "..", "xn--", "www.", "WWW.a,", "http:"),
    *("https://", "https://a/", "https://a.b ", "http://@", "a@b.cc ", "a@b.", "@abcd ", "@abcde@"),
]
# The same for Markdown: links, pictures, footnotes, lists, quotes, tables, emphasis.
MARKDOWN = [
    *("[a](", "[a](b ", '[a](b "', "[a](<b", "![a](", "![![a](1)](1)", "[a][b]", "[[a]]", "[`]`"),
    *("[^a]", "[^a", "[^a]: x\n", "a [^x]\n\n[^x]: y\n\n", "[^x]: [^x]: ", "[a]: b\n", "[a]:\n"),
    *("[a]: b 'c\n", "[a\n", "> ", "> a\n", "> > a\n\n", "- ", "- a\n", "- a\n  - b\n", "-\n*\n"),
    *("- a\n\n  b\n", "1) a\n2. b\n", "|a|b|\n|-|-|\n", "|-|\n", "a|b\n-|-\nx\n\n", "# a\n"),
    *("a\n===\n", "---\n", "```\n", "~~~\n```\n", "` ``", "`a", "*a ", "*a**b", "**a*b", "~~a "),
    *("\\\n", "a  \n", "&#x;", "<https://a.bb>", "https://a.bb/*_", "*@abcd* ", "x\n\n"),
]
PAIRS = [a + b for a in string.punctuation for b in string.punctuation if a != b]
# (before, repeated, after): a text that is invalid only at its end.
SHAPES = [
    ("x@y ", ")", "a)"),
    ("", "@", " x"),
    ("https://a.b/", ")", ""),
    ("https://a.b/", "(", ")"),
    ("(https://a.b/", "),", "."),
    ("https://", "a.", "!"),
    ("https://", "a-", "_@"),
    ("https://[", ":", "]"),
    ("https://a:", "1", "@"),
    ("x@", "a.", "!"),
    ("x@", "a-", "!"),
    ("", "a.", "@"),
    ("", "a", "@b"),
    ("@", "a", "@"),
    ("www.", "a.", "!"),
    ("&", "a", ";"),
    ('"', "\\", '"'),
    ('a; b="', ";", '"'),
]


def texts() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield generators of hostile texts: a name, and a function from a length to a text."""
    for unit in (*UNITS, *MARKDOWN):
        yield repr(unit), partial(repeated, unit)
    for before, unit, after in SHAPES:
        yield (
            repr((before, unit, after)),
            partial(between, before, unit, after),
        )


def pairs() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield a generator for each pair of punctuation marks."""
    for unit in PAIRS:
        yield repr(unit), partial(repeated, unit)


def between(before: str, unit: str, after: str, size: int) -> str:
    """Return a unit repeated between two ends, all of one length."""
    return before + repeated(unit, size - len(before + after)) + after


def repeated(unit: str, size: int) -> str:
    """Return a unit repeated to a length."""
    return (unit * (size // len(unit) + 1))[:size]


def seconds(run: Callable[[AnyStr], object], text: AnyStr) -> float:
    """Return the CPU time of one run, with an empty cache of `urlsplit`."""
    urlsplit.cache_clear()  # type: ignore[attr-defined]  # the stubs lack it
    enabled = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time()
        run(text)
        return time.thread_time() - started
    finally:
        if enabled:
            gc.enable()


def growth(
    run: Callable[[AnyStr], object],
    make: Callable[[int], AnyStr],
    most: int,
    *,
    enough: float = math.inf,
) -> float:
    """Return the largest ratio between the times of a text and of one half as long.

    The lengths go from an eighth of `most`, the largest allowed one, to twice `most`. A linear
    function takes one large step where its memory exceeds the cache of the processor, so the
    geometric mean of a step and the one before counts where it is less than the step. The first
    ratio above RATIO ends the search, so that a quadratic function costs little. A text that takes
    `enough` seconds ends it too, after a second step.
    """
    worst = 0.0
    before = shorter = seconds(run, make(most // 8))
    for size in (most // 4, most // 2, most, 2 * most):
        longer = seconds(run, make(size))
        for _ in range(TRIES):
            if _ratio(before, shorter, longer) <= RATIO:
                break
            shorter = min(shorter, seconds(run, make(size // 2)))
            longer = min(longer, seconds(run, make(size)))
        worst = max(worst, _ratio(before, shorter, longer))
        # Below this, not even a quadratic function gets above the floor.
        if worst > RATIO or longer * (2 * most / size) ** 2 < FLOOR:
            break
        if longer >= enough and size > most // 4:
            break
        before, shorter = shorter, longer
    return worst


def _ratio(before: float, shorter: float, longer: float) -> float:
    """Return the ratio of the last of three times, each of a text twice as long as the last."""
    before, shorter = max(before, FLOOR / 2), max(shorter, FLOOR / 2)
    return min(longer / shorter, (longer / before) ** 0.5)


def too_slow(
    run: Callable[[AnyStr], object], makers: Makers[AnyStr], most: int, *, quick: bool = False
) -> dict[str, float]:
    """Return the generators on which a function is not linear, each with its ratio.

    Growth is measured on the generators that are slowest at an eighth of the length, or at 2,000
    characters if that is more: a quadratic function already stands out there.
    """
    found = dict(makers)
    size = min(most, max(most // 8, STANDS_OUT))
    first = {name: seconds(run, make(size)) for name, make in found.items()}
    slowest = sorted(first, key=lambda name: -first[name])[: SLOWEST_QUICK if quick else SLOWEST]
    enough = ENOUGH if quick else math.inf
    ratios = {name: growth(run, found[name], most, enough=enough) for name in slowest}
    return {name: round(ratio, 1) for name, ratio in ratios.items() if ratio > RATIO}
