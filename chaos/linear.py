"""Parsers on hostile texts of every length: `make chaos ARGS=linear`.

Each parser of `socialsite/tests/hostile/parsers.py` reads generated texts. On those that are
slowest for it, growth is measured up to twice the largest allowed length. A parser whose time grows
faster than the length breaks the invariant; then the program exits with 1. `--parts` 4 and `--part`
0 to 3 share the parsers out.
"""

import sys

from bench.support import harness


def main() -> int:
    """Measure all parsers and report those that are not linear."""
    options = harness.arguments("Growth of the time of parsers.", {"--parts": 1, "--part": 0})
    harness.setup()
    from socialsite.core.text import spans
    from socialsite.tests.hostile import linear
    from socialsite.tests.hostile.parsers import ARTICLE, PARSERS

    report = harness.Report("linear", options)
    rows, slow = [], 0
    for parser in PARSERS[options.part :: options.parts]:
        found = linear.too_slow(parser, linear.texts(), parser.most)
        rows.append([parser.name, parser.most, ", ".join(f"{k}: {v}" for k, v in found.items())])
        slow += bool(found)
    if options.part == 0:
        found = linear.too_slow(spans.spans, linear.pairs(), ARTICLE)
        rows.append(["pairs of marks", ARTICLE, ", ".join(f"{k}: {v}" for k, v in found.items())])
        slow += bool(found)
    report.rows(rows, ["parser", "most", "ratios above 3"])
    report.goal("parsers that are not linear", slow, exactly=0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
