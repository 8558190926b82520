"""Parsing a text takes time in proportion to its length, whatever the text.

`make chaos ARGS=linear` measures more texts, up to twice the largest length.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.utils.http import parse_header_parameters
from jinja2.utils import urlize

from socialsite.core.text import spans
from socialsite.tests.hostile import linear
from socialsite.tests.hostile.parsers import ARTICLE, CALLS, OURS, PARSERS, READERS, Parser

pytestmark = pytest.mark.once

BRACKETS = str.maketrans("[]", "()")  # `urlsplit` raises for these


@pytest.mark.django_db
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_time_grows_linearly_with_the_length(parser: Parser) -> None:
    assert not linear.too_slow(parser, linear.texts(), parser.most, quick=True)


def test_time_grows_linearly_for_every_two_marks() -> None:
    assert not linear.too_slow(spans.spans, linear.pairs(), ARTICLE, quick=True)


@pytest.mark.parametrize(
    ("run", "most"),
    [
        (lambda value: urlize(value), 4000),
        (lambda value: re.sub(r"[!-~]*(?:@|://)[!-~]*$", "", value), 480),
        (lambda value: urlsplit("//" + value.translate(BRACKETS)), 16_000),
        (lambda value: parse_header_parameters(f'a/b; x="{value}'), 4000),
    ],
    ids=["urlize", "the end of a text", "a host", "a header"],
)
def test_the_measure_detects_non_linear_time(run: Callable[[str], object], most: int) -> None:
    assert linear.too_slow(run, linear.texts(), most, quick=True)


def test_every_module_that_parses_texts_is_in_the_table() -> None:
    names = {parser.name for parser in PARSERS}
    assert len(names) == len(PARSERS)
    for parsers in READERS.values():
        assert parsers == OURS or names.issuperset(parsers)
    found = {path for path in _modules() if _parses(settings.BASE_DIR / path)}
    assert found == set(READERS)


def _modules() -> Iterator[str]:
    for package in ("socialsite", "accounts", "relations", "feeds", "interactions"):
        for path in (settings.BASE_DIR / package).rglob("*.py"):
            if not {"tests", "migrations"} & set(path.relative_to(settings.BASE_DIR).parts):
                yield str(path.relative_to(settings.BASE_DIR))


def _parses(path: Path) -> bool:
    """Return True if a module uses a regular expression or calls a parser."""
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    return any(
        function.id in CALLS
        if isinstance(function, ast.Name)
        else function.attr in CALLS or getattr(function.value, "id", "") == "re"
        for function in functions
        if isinstance(function, ast.Name | ast.Attribute)
    )


def test_scripts_use_no_regular_expression() -> None:
    calls = "match|matchAll|replace|replaceAll|search|split"
    uses = re.compile(rf"RegExp|\.({calls})\(/|\)\.test\(|[=(] /[^/*]")
    for path in (settings.BASE_DIR / "static/js").rglob("*.js"):
        assert not uses.search(path.read_text()), path
