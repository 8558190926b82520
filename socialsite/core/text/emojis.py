"""Emoji by their names in both languages, for the picker; from the Unicode names of `emoji`."""

from functools import cache
from typing import NamedTuple

from socialsite.core.text import folding

# The emoji that an empty search shows.
COMMON = (
    "😀 😂 🤣 😊 😍 🥰 😘 😎 🤔 😴 😭 😱 😡 🥳 😇 🙃 👍 👎 👏 🙏 💪 👋 🤝 👀 ❤️ 💔 🔥 ✨ "
    "🎉 🎂 🎁 🌹 ☀️ 🌙 🌈 ⛄ 🐱 🐶 🐼 🍀 🍎 🍉 🍜 🍰 ☕ 🍺 ⚽ 🎵 📷 ✈️ 🏠 💡 ✅ ❌ ❓"
)
MOST = 60


class Emoji(NamedTuple):
    """One emoji and its name in the reader's language."""

    character: str
    name: str


def named(text: str, language: str) -> list[Emoji]:
    """Return the emoji whose name in either language has all words of a text; at most MOST."""
    words = folding.plain(text).split()
    found = []
    for character, english, chinese, known in _names():
        if words:
            if not all(word in known for word in words):
                continue
        elif character not in _common():
            continue
        found.append(Emoji(character, chinese if language.startswith("zh") else english))
    if not words:
        order = _common()
        found.sort(key=lambda one: order[one.character])
    return found[:MOST]


@cache
def _common() -> dict[str, int]:
    return {character: place for place, character in enumerate(COMMON.split())}


@cache
def _names() -> tuple[tuple[str, str, str, str], ...]:
    """Return (character, English name, Chinese name, both folded), without variants of skin."""
    import emoji  # here, as its table of names takes some megabytes

    emoji.config.load_language("zh")
    whole = emoji.STATUS["fully_qualified"]
    names = (
        (character, _words(known["en"]), _words(known.get("zh", known["en"])))
        for character, known in emoji.EMOJI_DATA.items()
        if known["status"] == whole and "skin_tone" not in known["en"]
    )
    return tuple((*name, folding.plain(" ".join(name[1:]))) for name in names)


def _words(name: str) -> str:
    return name.strip(":").replace("_", " ").casefold()
