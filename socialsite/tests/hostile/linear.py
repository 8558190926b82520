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
LONG = 0.2  # what else the processor does in so many seconds hardly counts
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
    *("www.aa好", "好www.aa.1.", "www.aa:,", "https://aa:", "https://aa.好", "а.", "@abcd\u00ad"),
]
# The same for Markdown: links, pictures, footnotes, lists, quotes, tables, emphasis.
MARKDOWN = [
    *("[a](", "[a](b ", '[a](b "', "[a](<b", "![a](", "![![a](1)](1)", "[a][b]", "[[a]]", "[`]`"),
    *("[^a]", "[^a", "[^a]: x\n", "a [^x]\n\n[^x]: y\n\n", "[^x]: [^x]: ", "[a]: b\n", "[a]:\n"),
    *("[a]: b 'c\n", "[a\n", "> ", "> a\n", "> > a\n\n", "- ", "- a\n", "- a\n  - b\n", "-\n*\n"),
    *("- a\n\n  b\n", "1) a\n2. b\n", "|a|b|\n|-|-|\n", "|-|\n", "a|b\n-|-\nx\n\n", "# a\n"),
    *("a\n===\n", "---\n", "```\n", "~~~\n```\n", "` ``", "`a", "*a ", "*a**b", "**a*b", "~~a "),
    *("\\\n", "a  \n", "&#x;", "<https://a.bb>", "https://a.bb/*_", "*@abcd* ", "x\n\n"),
    *(
        "_@abcd ",
        "_@abcd_ ",
        "@abcd_ ",
        "_@a",
        "__https://a.bb/c_d__ ",
        "https://a.bb/_x",
        "a@b.cc_ ",
    ),
]
# The same for HTML. Builders of trees need the square of the length for most of these.
MARKUP = [
    *("<div>", "<a><b>", "<p><font a>", "<b><div></b>", "<table>", "<table>a<b>", "<li><ul>"),
    *("<svg>", "<svg></x>", "<svg><desc>", "<svg><g></p>", "<math><mi>", "<template>", "</a>"),
    *("<body a>", "<title>", "<title></title>", "<script><!--", "<meta a=b>", "<!--", "<![CDATA["),
    *("charset", "charset = ", "charset='", " encoding = "),
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
    ("https://", "好a.", "-"),
    ("https://x.example/", "\u06cc\u200c", "a"),
    ("https://x.example/", "\u061f", "a"),
    ("&", "a", ";"),
    ('"', "\\", '"'),
    ('a; b="', ";", '"'),
    ("<svg>", "<g>", "</svg>"),
    ("<svg>", "<g></x>", ""),
    ("<svg>", "<desc><svg>", "<p>"),
]


def texts() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield generators of hostile texts: a name, and a function from a length to a text."""
    for unit in (*UNITS, *MARKDOWN, *MARKUP):
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

    The lengths go from a sixteenth of `most`, the largest allowed one, to twice `most`. A linear
    function takes one large step where its memory exceeds the cache of the processor, so the
    geometric mean of a step and the one before counts where it is less than the step. The first
    ratio above RATIO ends the search, so that a quadratic function costs little. A text that takes
    `enough` seconds ends it too, after a second step.
    """
    worst = 0.0
    best: dict[int, float] = {}

    def measure(size: int) -> tuple[float, float, float]:
        """Return the best times of a text, of its half and of its quarter; the shortest first."""
        # In turn: the processor may be slower for a while, and a slow shorter text hides growth.
        for part in (size // 4, size // 2, size):
            best[part] = min(best.get(part, math.inf), seconds(run, make(part)))
        return best[size // 4], best[size // 2], best[size]

    for size in (most // 4, most // 2, most, 2 * most):
        times = measure(size)
        if times[-1] < LONG:
            times = measure(size)
        for _ in range(TRIES):
            if _ratio(*times) <= RATIO:
                break
            times = measure(size)
        worst = max(worst, _ratio(*times))
        # Below this, not even a quadratic function gets above the floor.
        if worst > RATIO or times[-1] * (2 * most / size) ** 2 < FLOOR:
            break
        if times[-1] >= enough and size > most // 4:
            break
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
