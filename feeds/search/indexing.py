"""Keep the index of the words of posts, by event; rebuild and check it.

A post has a term for each word, character and pair of characters of its texts, for each tag, for
its author and for its pictures. Terms of one kind never meet those of another: a mark that is in no
word begins them.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from feeds.models import Kind, Post, PostContent, PostTerm, SearchedPost
from feeds.search.language import Terms
from feeds.search.matching import Text
from socialsite.core.search import postings, words
from socialsite.core.text.spans import tag_names

INDEX = postings.Index(SearchedPost, PostTerm)
# Posts that a rebuild reads at a time.
STEP = 500
# A word in the title counts as often as this in the text.
TITLE_COUNTS = 4
# The score of a word is at most this; a post of USUAL words that has it once gets a half of it.
SCORE_MAX, USUAL = 200, 30
_IMAGE = words.number("\0image")


def _tag(name: str) -> int:
    return words.number(f"\0#{name}")


def _author(author_id: int) -> int:
    return words.number(f"\0@{author_id}")


def terms_of(text: Text, author_id: int) -> dict[int, int]:
    """Return the terms of a post with their weights; filters have the weight 0.

    A weight grows with the number of times that the post has the word, and shrinks with the length
    of the post, as in BM25.
    """
    title = Counter(words.terms(words.split(text.title)))
    counts = Counter[str]()
    for one in text.body():
        counts.update(words.terms(words.split(one)))
    length = counts.total() + title.total()
    counts.update({term: TITLE_COUNTS * count for term, count in title.items()})
    drag = (1 + length / USUAL) / 2
    weights = {
        words.number(term): math.floor(SCORE_MAX * count / (count + drag))
        for term, count in counts.items()
    }
    weights |= {_tag(name): 0 for name in text.tags}
    weights[_author(author_id)] = 0
    if text.has_image:
        weights[_IMAGE] = 0
    return weights


def terms_needed(wanted: Terms, author_ids: Collection[int]) -> list[int]:
    """Return the terms that each post has that a question finds."""
    found = [term for needle in wanted.needles for term in words.needed_terms(needle)]
    # Long words first: they are rarer, and only some of the terms are looked up.
    found.sort(key=lambda term: -len(term))
    numbers = [_author(ident) for ident in author_ids] + [_tag(name) for name in wanted.tags]
    numbers += [words.number(term) for term in found]
    if wanted.image:
        numbers.append(_IMAGE)
    return list(dict.fromkeys(numbers))


# --- writes -------------------------------------------------------------------------------------
def refresh(post_id: int, *, whole: bool = False) -> bool:
    """Make the terms of a post those of its present words; return whether they changed.

    `whole` writes all rows anew.
    """
    position = Post.objects.values_list("position", flat=True).get(pk=post_id)
    return postings.write(INDEX, post_id, position, partial(_present, post_id), whole=whole)


def _present(post_id: int) -> Mapping[int, int]:
    row = PostContent.objects.select_related("post").filter(pk=post_id).first()
    if row is None or row.post.is_deleted or (row.post.kind == Kind.REPOST and not row.content):
        return {}
    text = Text(
        title=row.title,
        note=row.note,
        content=row.content,
        options=() if row.poll is None else tuple(row.poll["options"]),
        tags=tuple(tag_names(row.content)),
        author="",
        has_image=bool(row.images),
        position=row.post.position,
    )
    return terms_of(text, row.post.author_id)


@dataclass
class Rebuilt:
    """What a rebuild read, and what it found wrong."""

    posts: int = 0
    mended: int = 0


def rebuild(after: int, found: Rebuilt) -> int | None:
    """Compare the terms of the next posts with their words, and correct those that differ.

    Counts in `found`; returns the last post's id, or None at the end. `after` begins with 0.
    """
    ids = list(Post.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:STEP])
    for ident in ids:
        found.posts += 1
        if not is_right(ident):
            found.mended += refresh(ident, whole=True)
    return ids[-1] if len(ids) == STEP else None


def is_right(post_id: int) -> bool:
    """Return whether the index has the present words of a post, and no others."""
    position = Post.objects.values_list("position", flat=True).get(pk=post_id)
    return postings.is_right(INDEX, post_id, position, _present(post_id))
