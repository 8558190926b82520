"""The hook that checks commit messages."""

import pytest

from deploy.dev.commit_message import SCISSORS, main, mistakes

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    "message",
    [
        "feeds: Bound the refill loop.\n",
        "core: Say why.\n\nBecause.\n# a comment of git\n",
        "accounts, core: Move the keys.",
        "feeds/home: " + "A" + "a" * 58 + ".",
        "Merge branch 'w-spec'",
        'Revert "feeds: Bound the refill loop."\n\nThis reverts commit 1.',
        f"core: Say why.\n{SCISSORS}\ndiff --git",
    ],
)
def test_a_message_of_the_form_passes(message: str) -> None:
    assert mistakes(message) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("", "form"),
        ("# only a comment", "form"),
        ("Bound the refill loop.", "form"),
        ("feeds: bound the refill loop.", "form"),
        ("Feeds: Bound the refill loop.", "form"),
        ("feeds: Bound the refill loop", "form"),
        ("feeds: Bound the refill loop...", "form"),
        ("feeds:Bound the refill loop.", "form"),
        ("feeds: " + "A" + "a" * 65 + ".", "74 characters"),
        ("feeds: Bound the refill loop.\nIt never ended.", "second line"),
    ],
)
def test_a_message_of_another_form_is_refused(message: str, said: str, tmp_path, capsys) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message)
    assert main([str(file)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
