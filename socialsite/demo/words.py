"""Text generator of the demo: posts, articles and comments from templates in two languages.

- The same numbers give the same texts in every process: a killed run continues with the texts that
  it would have used.
- An author uses a template again only after all others of the topic. All authors together use it
  again only after RECENT others, so that no page repeats itself.
"""

import re
import tomllib
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

LANGUAGES = ("zh", "en")
ANY = "any"
RECENT = 60
TRIES = 8
TEXTS = Path(__file__).parent / "texts"

_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n))[a-z]")


@dataclass(frozen=True, slots=True)
class Text:
    """The texts of one post."""

    kind: str
    content: str
    title: str = ""
    video_url: str = ""


@cache
def texts(language: str) -> dict[str, Any]:
    """Return the templates of a language: topic → lists of templates and slots."""
    return _read(language)


def site_texts() -> dict[str, Any]:
    """Return the texts about the site: kind → language → Markdown."""
    return _read("site")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((TEXTS / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def topics() -> tuple[str, ...]:
    """Return the topics, which are the same in all languages."""
    return tuple(name for name in texts(LANGUAGES[0]) if name != ANY)


def fill(template: str, topic: str, language: str, rng: Random, values: dict[str, str]) -> str:
    """Fill the slots; `values` stores the choices, so that texts filled together agree."""
    said = texts(language)

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            choices = said[topic]["slots"].get(name) if topic != ANY else None
            values[name] = rng.choice(choices or said[ANY]["slots"][name])
        return values[name]

    text = _SLOT.sub(value, template)
    if language == "en":
        text = _SENTENCE_START.sub(lambda match: match[0].upper(), text)
    return text


class Writer:
    """Writes the posts and comments of all people, in call order."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._decks: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        self._recent: deque[str] = deque(maxlen=RECENT)
        self._written: set[str] = set()
        self._comments: dict[int, set[str]] = defaultdict(set)

    def post(self, author: int, language: str, topic: str, kind: str) -> Text:
        """Write a post of a kind (micro, article, video)."""
        if kind == "article":
            return self._article(author, language, topic)
        if kind == "video":
            return self._video(author, language, topic)
        return Text("micro", self._micro(author, language, topic))

    def comment(self, post: int, language: str, topic: str) -> str:
        """Write a comment that does not exist on this post yet."""
        about = topic if self._rng.random() < 0.4 else ANY
        return self._unsaid(post, language, about, "comments")

    def reply(self, post: int, language: str) -> str:
        """Write a reply to a comment."""
        return self._unsaid(post, language, ANY, "replies")

    def _micro(self, author: int, language: str, topic: str) -> str:
        """Write a short post that does not exist yet, if a few tries find one."""
        text = ""
        for attempt in range(TRIES):
            # Templates with few variants are used up soon: later tries add a second thought.
            text = self._thought(author, language, topic, self._rng.random() + attempt / 4)
            if text not in self._written:
                break
        self._written.add(text)
        return self._tagged(text, language, topic)

    def _tagged(self, text: str, language: str, topic: str) -> str:
        """Add one or two tags of the topic to half of the texts, chosen by the text itself."""
        number = crc32(text.encode())
        tags: list[str] = texts(language)[topic]["tags"]
        first, count = number % len(tags), (0, 0, 0, 1, 1, 2)[number // 7 % 6]
        return " ".join([text, *(f"#{tag}" for tag in (tags + tags)[first : first + count])])

    def _thought(self, author: int, language: str, topic: str, chance: float) -> str:
        if chance < 0.04:
            return self._text(author, language, topic, "paragraphs", {})
        if chance < 0.10:
            return self._text(author, language, ANY, "micro", {})
        values: dict[str, str] = {}
        text = self._text(author, language, topic, "micro", values)
        if chance > 0.86:
            # Another thought on another subject; only places and people stay the same.
            return text + "\n\n" + self._text(author, language, topic, "micro", {})
        if chance > 0.68:
            gap = "" if language == "zh" else " "
            text += gap + self._text(author, language, ANY, "tails", values)
        return text

    def _article(self, author: int, language: str, topic: str) -> Text:
        values: dict[str, str] = {}
        title = self._text(author, language, topic, "titles", values)
        parts = [self._text(author, language, topic, "leads", values)]
        for _number in range(self._rng.randint(2, 5)):
            parts.append(self._text(author, language, topic, "paragraphs", values))
        parts.append(self._text(author, language, ANY, "closers", values))
        return Text("article", "\n\n".join(parts), title=title)

    def _video(self, author: int, language: str, topic: str) -> Text:
        title, words = self._draw((author, language, topic, "videos"), author)
        values: dict[str, str] = {}
        title = fill(title, topic, language, self._rng, values)
        # A host that does not exist, so that the demo links to no real site.
        address = f"https://video.example.org/{topic}/{self._rng.getrandbits(40):x}"
        return Text(
            "video",
            fill(words, topic, language, self._rng, values),
            title=title,
            video_url=address,
        )

    def _text(
        self, author: int, language: str, topic: str, part: str, values: dict[str, str]
    ) -> str:
        template = self._draw((author, language, topic, part), author)
        return fill(template, topic, language, self._rng, values)

    def _draw(self, key: tuple[Any, ...], author: int) -> Any:
        """Return the next template of an author's deck, skipping recently used ones."""
        deck: list[Any] = self._decks[key]
        if not deck:
            _author, language, topic, part = key
            deck.extend(texts(language)[topic][part])
            self._rng.shuffle(deck)
        fresh = next((item for item in reversed(deck) if str(item) not in self._recent), deck[-1])
        deck.remove(fresh)
        self._recent.append(str(fresh))
        return fresh

    def _unsaid(self, post: int, language: str, topic: str, part: str) -> str:
        said = self._comments[post]
        choices: Sequence[str] = texts(language)[topic][part]
        template = self._rng.choice(choices)
        for _try in range(20):
            if template not in said:
                break
            template = self._rng.choice(choices)
        said.add(template)
        return fill(template, topic, language, self._rng, {})
