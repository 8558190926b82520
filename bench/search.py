"""Search for posts and people at a million posts: `make bench ARGS="search"`.

Authors write posts of words that are as frequent as in a language (Zipf), English and Chinese. Each
kind of question is asked newest first and by relevance, for a page of ten with all checks, and
compared with `SELECT 1` on the same connection. Goal: the median kind costs at most 30 times that,
newest first as well as by relevance.
Also: any part of a name among as many people as `--people`, and the size of the tables.
"""

import itertools
import random
import statistics
import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench.support import harness

RATIO_MAX = 30
SIZE, BATCH, INSERTED = 10, 5000, 20_000
# The terms of one of so many posts are compared with those of the site.
CHECKED = 1000
VOCABULARY, SKEW = 40_000, 1.05
WORDS_OF_A_POST = (3, 14)
SHARE_CHINESE = 0.4
_CHARACTERS = [chr(0x4E00 + 7 * number) for number in range(2500)]


class Language:
    """Words by their frequency: `words[0]` is the most common one."""

    def __init__(self, dice: random.Random, words: list[str], between: str) -> None:
        self._dice, self.words, self._between = dice, words, between
        steps = (1 / (number + 2.7) ** SKEW for number in range(len(words)))
        self._weights = list(itertools.accumulate(steps))

    def text(self) -> str:
        """Return a text of some words."""
        count = self._dice.randint(*WORDS_OF_A_POST)
        chosen = self._dice.choices(self.words, cum_weights=self._weights, k=count)
        return self._between.join(chosen)

    def terms(self, text: str) -> list[str]:
        """Return the terms of such a text: the same as the index has, without folding."""
        from socialsite.core.search import words

        return text.split(" ") if self._between else [*text, *words.pairs(text)]


def languages(dice: random.Random) -> tuple[Language, Language]:
    """Return made-up English and Chinese."""
    syllables = [a + b for a in "bcdfghklmnprtvw" for b in "aeiou"]
    english = ["".join(dice.choices(syllables, k=3)) + "n" for _ in range(2 * VOCABULARY)]
    chinese = ["".join(dice.choices(_CHARACTERS, k=2)) for _ in range(2 * VOCABULARY)]
    return tuple(  # type: ignore[return-value]
        Language(dice, list(dict.fromkeys(words))[:VOCABULARY], between)
        for words, between in ((english, " "), (chinese, ""))
    )


def fill(options: Any, authors: Sequence[int], dice: random.Random) -> tuple[Language, Language]:
    """Insert posts with their words and the index of these."""
    from bench.support import people
    from bench.support.rows import insert
    from feeds.models import AuthorHead, Post, PostContent, SearchedPost
    from socialsite.core.search import postings

    english, chinese = languages(dice)
    start = int(time.time() * 1000) - options.posts * 1000
    # Columns: term number, post number, weight; sorted below, as the table is.
    rows: dict[int, array[int]] = {}
    for first in range(0, options.posts, BATCH):
        posts, contents, searched = [], [], []
        for number in range(first, min(first + BATCH, options.posts)):
            ident, author = 2 * people.FIRST_ID + number, dice.choice(authors)
            language = chinese if dice.random() < SHARE_CHINESE else english
            text, position = language.text(), start + number * 1000
            terms = terms_of(language, text, author)
            if number % CHECKED == 0:
                check(terms, text, author, position)
            posts.append((ident, author, position))
            contents.append((ident, text))
            searched.append((ident, position, postings.pack(terms)))
            for term, weight in terms.items():
                rows.setdefault(term, array("q")).append(number << 16 | weight)
        insert(Post(), ("id", "author_id", "position"), posts)
        insert(PostContent(), ("post_id", "content"), contents)
        insert(SearchedPost(), ("object_id", "position", "terms"), searched)
    AuthorHead.objects.bulk_create(AuthorHead(author_id=author) for author in authors)
    _insert(rows, start, 2 * people.FIRST_ID)
    people.execute("ANALYZE TABLE feeds_postterm, feeds_post, feeds_postcontent")
    return english, chinese


def terms_of(language: Language, text: str, author: int) -> dict[int, int]:
    """Return the terms of a post with their weights, in a fraction of the time of the site."""
    from feeds.discovery.search import indexing
    from socialsite.core.search import words

    found = language.terms(text)
    counts, length = Counter(found), len(found)
    terms = {words.number(term): indexing.weight(n, length) for term, n in counts.items()}
    terms[indexing.of_author(author)] = 0
    return terms


def check(terms: dict[int, int], text: str, author: int, position: int) -> None:
    """Compare terms with those that the site gives such a post."""
    from feeds.discovery.search import indexing
    from feeds.discovery.search.matching import Text

    if terms != indexing.terms_of(Text("", "", text, (), (), "", False, position), author):
        raise AssertionError(f"other terms than those of the site: {text}")


def _insert(rows: dict[int, "array[int]"], start: int, first: int) -> None:
    """Insert the index in its own order."""
    from bench.support import people

    parts: list[str] = []
    for term in sorted(rows):
        for value in rows[term]:
            number, weight = value >> 16, value & 0xFFFF
            parts.append(f"({term},{start + number * 1000},{first + number},{weight})")
            if len(parts) == INSERTED:
                _insert_part(people.execute, parts)
    _insert_part(people.execute, parts)


def _insert_part(execute: Callable[[str], Any], parts: list[str]) -> None:
    if parts:
        columns = "(term, position, object_id, weight)"
        execute(f"INSERT INTO feeds_postterm {columns} VALUES {','.join(parts)}")  # noqa: S608
        parts.clear()


def questions(
    english: Language,
    chinese: Language,
    author: str,
    phrases: list[list[str]],
    dice: random.Random,
) -> dict[str, Callable[[], str]]:
    """Return kinds of questions, each with a function that makes one."""

    def word(language: Language, low: int, high: int) -> str:
        return language.words[dice.randrange(low, high)]

    common = partial(word, english, 0, 20)
    usual = partial(word, english, 200, 2000)
    rare = partial(word, english, 15_000, 40_000)
    return {
        "rare word": rare,
        "usual word": usual,
        "common word": common,
        "common and usual word": lambda: f"{common()} {usual()}",
        "two usual words": lambda: f"{usual()} {usual()}",
        "phrase of a post": lambda: f'"{" ".join(dice.choice(phrases))}"',
        "word without another": lambda: f"{usual()} -{common()}",
        "one Chinese character": lambda: word(chinese, 100, 3000)[0],
        "Chinese word": lambda: word(chinese, 100, 3000),
        "two Chinese words": lambda: f"{word(chinese, 0, 30)} {word(chinese, 30, 300)}",
        "word of an author": lambda: f"from:{author} {common()}",
        "an author": lambda: f"from:{author}",
        "usual word, before a day": lambda: f"{usual()} before:2100-01-01",
        "nothing": lambda: "zzzzqqqq",
    }


def phrases(dice: random.Random) -> list[list[str]]:
    """Return two words that stand side by side in a post, of many posts."""
    from feeds.models import PostContent

    texts = PostContent.objects.order_by("-pk").values_list("content", flat=True)[:5000]
    found = [text.split(" ") for text in texts if " " in text]
    starts = [(words, dice.randrange(len(words) - 1)) for words in found]
    return [words[start : start + 2] for words, start in starts]


def fill_names(count: int, dice: random.Random) -> None:
    """Insert that many people with their names and the index of these."""
    from accounts.models import NameTerm, SearchedName, User
    from accounts.naming import search
    from bench.support import people
    from socialsite.core.search import postings

    syllables = [a + b for a in "bcdfghklmnprtvw" for b in "aeiou"]
    rows: dict[int, list[int]] = {}
    for first in range(0, count, BATCH):
        users, named = [], []
        for number in range(first, min(first + BATCH, count)):
            ident = 5 * people.FIRST_ID + number
            name = "".join(dice.choices(syllables, k=dice.randint(2, 4))) + f"{number:07}"
            nick = "".join(dice.choices(_CHARACTERS, k=3)) if number % 2 else name.title()
            fields = {"username_key": name, "nickname": nick, "nickname_key": nick.lower()}
            users.append(User(id=ident, username=name, **fields))
            terms = search.terms_of((name, nick))
            packed, place = postings.pack(terms), search.place_of(ident).ts_ms
            named.append(SearchedName(object_id=ident, position=place, terms=packed))
            for term in terms:
                rows.setdefault(term, []).append(ident)
        User.objects.bulk_create(users)
        SearchedName.objects.bulk_create(named)
    for term in sorted(rows):
        for start in range(0, len(rows[term]), BATCH):
            NameTerm.objects.bulk_create(
                NameTerm(term=term, position=search.place_of(one).ts_ms, object_id=one, weight=0)
                for one in rows[term][start : start + BATCH]
            )
    people.execute("ANALYZE TABLE accounts_nameterm, accounts_user")


def ask(viewer: Any, make: Callable[[], str], sort: Any) -> None:
    """Ask for a page of posts."""
    from feeds.discovery.search import language, paging

    paging.page(viewer, language.parse(make()), sort, "", SIZE)


def sizes(report: harness.Report) -> None:
    """Report the sizes of the tables."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, table_rows, ROUND((data_length + index_length) / 1e6)"
            " FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN"
            " ('feeds_postterm', 'feeds_searchedpost', 'feeds_post', 'feeds_postcontent',"
            " 'accounts_nameterm', 'accounts_searchedname', 'accounts_user')"
        )
        rows = sorted(cursor.fetchall())
    report.rows(rows, ["table", "rows, about", "MB"], title="Sizes")


def main() -> int:
    """Run all measurements."""
    options = harness.arguments(
        "Search for posts and people.",
        {"--posts": 1_000_000, "--authors": 5000, "--people": 200_000, "--rounds": 40},
    )
    harness.setup()
    from accounts.models import User
    from bench.support import people as crowd
    from relations import queries as relations_queries

    crowd.be_patient()
    report = harness.Report("search", options)
    dice = random.Random(options.seed)
    ids = crowd.make_people(options.authors)
    reader, author = User.objects.filter(pk__in=ids[:2]).order_by("pk")
    # `from:` finds valid usernames only.
    author.username = author.username_key = "author1"
    author.save(update_fields=["username", "username_key"])
    begun = time.monotonic()
    english, chinese = fill(options, ids, dice)
    fill_names(options.people, dice)
    report.say(f"\n- filled in {time.monotonic() - begun:.0f} s")
    sizes(report)
    works: dict[str, Callable[[], Any]] = {"SELECT 1": harness.database_ping}
    asked = questions(english, chinese, author.username, phrases(dice), dice)
    for name, make in asked.items():
        for sort in ("new", "top"):
            works[f"{name}, {sort}"] = partial(ask, reader, make, sort)
    for name, text in (("one letter", "b"), ("two letters", "wu"), ("part of a name", "tika")):
        find = partial(relations_queries.search_people, reader, text, None, SIZE)
        works[f"people: {name}"] = find
    works["people: Chinese"] = lambda: relations_queries.search_people(
        reader, "".join(dice.choices(_CHARACTERS, k=2)), None, SIZE
    )
    times = harness.interleave(works, rounds=options.rounds, seed=options.seed)
    report.table(times, floor="SELECT 1", title=f"Pages of {SIZE} results of each kind of question")
    floor = times["SELECT 1"]
    ratios = {name: times[name].over(floor) for name in works if name != "SELECT 1"}
    for kind in ("new", "top", "people"):
        found = [
            ratio for name, ratio in ratios.items() if name.startswith(kind) or name.endswith(kind)
        ]
        report.goal(f"{kind}, median kind / SELECT 1", statistics.median(found), at_most=RATIO_MAX)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
