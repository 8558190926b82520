"""The Chinese texts: complete, compiled, with the placeholders of the English ones."""

import ast
import gettext
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation
from rest_framework import serializers

pytestmark = pytest.mark.once

ROOT = Path(settings.BASE_DIR)
FOLDER = ROOT / "socialsite" / "locale" / "zh_Hans" / "LC_MESSAGES"
PO, MO = FOLDER / "django.po", FOLDER / "django.mo"
APPS = ("socialsite", "accounts", "relations", "feeds", "interactions")
MARKED = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[a-z%]|\{\w*\}")
LITERAL = re.compile(r"""\b_\(\s*"((?:[^"\\]|\\.)*)"|\b_\(\s*'((?:[^'\\]|\\.)*)'""")


def tool(*command: str) -> bytes:
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout


def catalogue(path: Path) -> dict[str | tuple[str, int], str]:
    with path.open("rb") as file:
        found = dict(gettext.GNUTranslations(file)._catalog)  # type: ignore[attr-defined]
    found.pop("", None)
    return found


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    """Return English text → Chinese text of the compiled file."""
    return {(key if isinstance(key, str) else key[0]): text for key, text in catalogue(MO).items()}


def texts_of_templates() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for match in LITERAL.finditer(path.read_text()):
            yield str(path.relative_to(ROOT)), match[1] or match[2]


def texts_of_code() -> Iterator[tuple[str, str]]:
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "tests" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                    continue
                if node.func.id in MARKED and isinstance(node.args[0], ast.Constant):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", str(node.args[0].value)


def test_nothing_is_untranslated_fuzzy_or_obsolete() -> None:
    for question in ("--untranslated", "--only-fuzzy", "--only-obsolete"):
        assert tool("msgattrib", "--no-wrap", question, str(PO)).decode() == "", question


def test_the_compiled_file_is_up_to_date(tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.mo"
    tool("msgfmt", "--check-format", "-o", str(fresh), str(PO))
    assert catalogue(fresh) == catalogue(MO), "compile the messages: docs/translations.md"


def test_every_text_of_templates_and_code_is_translated(chinese: dict[str, str]) -> None:
    found = [*texts_of_templates(), *texts_of_code()]
    assert len(found) > 200
    assert [place for place in found if place[1] not in chinese] == []


def test_makemessages_finds_each_text_of_templates() -> None:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        assert not re.search(r"\{\{-\s*_\(", path.read_text()), path


def test_placeholders_agree(chinese: dict[str, str]) -> None:
    for english, text in chinese.items():
        assert sorted(PLACEHOLDER.findall(english)) == sorted(PLACEHOLDER.findall(text)), english


def test_chinese_texts_use_chinese_punctuation(chinese: dict[str, str]) -> None:
    for english, text in chinese.items():
        assert not re.search(r"[一-鿿][,;:!?]|[一-鿿]\.(\s|$)", text), english
        assert english.endswith(".") <= text.endswith(("。", "？", "！", "& .")), english


@pytest.mark.django_db
def test_messages_of_django_and_drf_are_chinese_too() -> None:
    field = serializers.IntegerField()
    with translation.override("zh-hans"), pytest.raises(serializers.ValidationError) as error:
        field.run_validation("x")
    (detail,) = error.value.detail
    assert "整数" in str(detail)
    answer = Client().post(
        "/api/v1/auth/login",
        {"username": "only"},
        content_type="application/json",
        headers={"accept-language": "zh-CN"},
    )
    assert answer.status_code == 400
    assert re.search(r"[一-鿿]", answer.json()["fields"]["password"][0]), answer.content


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "shown"), [("zh-CN,zh;q=0.9,en;q=0.8", "登录"), ("en-GB", "Log in"), ("fr", "Log in")]
)
def test_the_language_follows_the_browser(asked: str, shown: str) -> None:
    page = Client().get("/login", headers={"accept-language": asked}).content.decode()
    assert f"<title>{shown} · socialsite</title>" in page
