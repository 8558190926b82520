"""Update the index of the words of posts after their events; rebuild and check it.

A post has a term for each word, character and pair of characters of its texts, for each tag, for
its author and for its pictures. Terms of different kinds never collide: those of tags, authors and
pictures begin with a character that no word has.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial

from feeds.content.plain_text import plain, tags_of
from feeds.discovery.search.language import Terms
from feeds.discovery.search.matching import Text, is_found
from feeds.models import Post, PostContent, PostTerm, SearchedPost
from socialsite.core.search import postings, words

INDEX = postings.Index(SearchedPost, PostTerm)
# A word in the title counts as often as this in the text.
TITLE_COUNTS = 4
# The score of a word is at most this; a post of USUAL words that has it once gets half of it.
SCORE_MAX, USUAL = 200, 30
_IMAGE = words.number("\0image")


def _tag(name: str) -> int:
    return words.number(f"\0#{name}")


def of_author(author_id: int) -> int:
    """Return the number of the term of a person's posts."""
    return words.number(f"\0@{author_id}")


def terms_of(text: Text, author_id: int) -> dict[int, int]:
    """Return the terms of a post with their weights; filters have the weight 0."""
    title = Counter(words.terms(words.split(text.title)))
    counts = Counter[str]()
    for one in text.body():
        counts.update(words.terms(words.split(one)))
    length = counts.total() + title.total()
    counts.update({term: TITLE_COUNTS * count for term, count in title.items()})
    weights = {words.number(term): weight(count, length) for term, count in counts.items()}
    weights |= {_tag(name): 0 for name in text.tags}
    weights[of_author(author_id)] = 0
    if text.has_image:
        weights[_IMAGE] = 0
    return weights


def weight(count: int, length: int) -> int:
    """Return the weight of a term that a post of so many terms has so many times, as in BM25."""
    drag = (1 + length / USUAL) / 2
    return math.floor(SCORE_MAX * count / (count + drag))


def terms_needed(wanted: Terms, author_ids: Collection[int]) -> list[int]:
    """Return the terms that every matching post has."""
    found = [term for needle in wanted.needles for term in words.needed_terms(needle)]
    # Long words first: they are rarer, and only some of the terms are looked up.
    found.sort(key=lambda term: -len(term))
    numbers = [of_author(ident) for ident in author_ids] + [_tag(name) for name in wanted.tags]
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
    if row is None or row.post.is_deleted or row.post.is_removed:
        return {}
    if not is_found(row.post.kind, row.content, row.post.visibility):
        return {}
    text = Text(
        title=row.title,
        note=row.note,
        content=plain(row.post.kind, row.content),
        options=() if row.poll is None else tuple(row.poll["options"]),
        tags=tuple(tags_of(row.post.kind, row.content)),
        author="",
        has_image=bool(row.images),
        position=row.post.position,
    )
    return terms_of(text, row.post.author_id)


def repair(post_id: int) -> bool:
    """Correct the terms of a post if they are wrong; return whether they changed."""
    return not is_right(post_id) and refresh(post_id, whole=True)


def is_right(post_id: int) -> bool:
    """Return whether the index has the present words of a post, and no others."""
    position = Post.objects.values_list("position", flat=True).get(pk=post_id)
    return postings.is_right(INDEX, post_id, position, _present(post_id))
