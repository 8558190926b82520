"""The nickname rule of NAME_POLICY=open: 1 to 30 visible characters of any script.

A name must show what it is. It has no control characters, nothing invisible, nothing that changes
the direction of the text around it. `accounts.naming.lookalikes` finds names that look like staff.
"""

import unicodedata
from collections.abc import Iterator

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from wcwidth import iter_graphemes

from accounts.models import User

Texts = list[str | Promise]

VISIBLE_MAX = 30
# Several marks may stand on one letter, as in Vietnamese, Thai or Hebrew, but not a tower of them.
MARKS_MAX = 4
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ZWNJ, ZWJ, EMOJI_FORM, KEYCAP = "\u200c", "\u200d", "\ufe0f", "\u20e3"
# Characters that show nothing although their categories are those of letters, marks and symbols.
BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00016fe4"
    "\U0001d159" + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# Newer emoji and Chinese characters than this Python knows.
_NEWER = ((0x1F300, 0x1FAFF, "So"), (0x20000, 0x323AF, "Lo"))
_VIRAMA = 9  # combining class of marks that join consonants
_EMPTY = _("Enter a name.")
_TOO_LONG = _("At most %(limit)s characters.")
_TOO_MUCH = _("These characters take too much space. Use fewer of them.")
_DIRECTION = _("A name must not change the direction of the text around it.")
_INVISIBLE = _("A name must not have invisible characters.")
_SPACES = _("Use single spaces, and only between words.")
_MARKS = _("A letter of a name has too many marks.")
_NO_LETTER = _("A name needs a letter, a digit or an emoji.")


def normal(value: str) -> str:
    """Return a name in the one form that is stored (NFC)."""
    return unicodedata.normalize("NFC", value)


def mistakes(value: str) -> Texts:
    """Return the mistakes of a name in its normal form, at most one."""
    if not value:
        return [_EMPTY]
    if len(value) > User.NICKNAME_MAX * VISIBLE_MAX or visible_length(value) > VISIBLE_MAX:
        return [_TOO_LONG % {"limit": VISIBLE_MAX}]
    if len(value) > User.NICKNAME_MAX:
        return [_TOO_MUCH]
    for is_wrong, text in (
        (_turns(value), _DIRECTION),
        (any(_is_hidden(value, at) for at in range(len(value))), _INVISIBLE),
        (_has_odd_spaces(value), _SPACES),
        (_has_odd_marks(value), _MARKS),
        (not any(_category(c)[0] in "LNS" for c in value), _NO_LETTER),
    ):
        if is_wrong:
            return [text]
    return []


def hint() -> str:
    """Return the rule in words."""
    return _("1 to %(limit)s characters of any language, also emoji and spaces.") % {
        "limit": VISIBLE_MAX
    }


def visible_length(value: str) -> int:
    """Return the number of characters that people see."""
    return sum(1 for _one in iter_graphemes(value))


def _turns(value: str) -> bool:
    return not DIRECTIONS.isdisjoint(value)


def _category(character: str) -> str:
    found = unicodedata.category(character)
    if found == "Cn":
        for first, last, kind in _NEWER:
            if first <= ord(character) <= last:
                return kind
    return found


def _is_hidden(value: str, at: int) -> bool:
    """Return whether the character at a place shows nothing and joins nothing."""
    character = value[at]
    before = value[at - 1] if at else ""
    after = value[at + 1] if at + 1 < len(value) else ""
    if character == EMOJI_FORM:
        is_key = after == KEYCAP and before in "0123456789#*"
        return not before or not (is_key or (_category(before)[0] in "SP" and not before.isascii()))
    if character in (ZWJ, ZWNJ):
        return not (before and after and _joins(character, before, after))
    return character in BLANK or _category(character) in _HIDDEN


def _joins(joiner: str, before: str, after: str) -> bool:
    """Return whether a joiner between two characters changes how they look."""
    if unicodedata.combining(before) == _VIRAMA:
        return _category(after)[0] == "L"
    if joiner == ZWNJ:
        return unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"
    return _category(after) == "So" and (before == EMOJI_FORM or _category(before) in ("So", "Sk"))


def _has_odd_spaces(value: str) -> bool:
    odd = any(c != " " and unicodedata.category(c) == "Zs" for c in value)
    return odd or value.strip(" ") != value or "  " in value


def _has_odd_marks(value: str) -> bool:
    """Return whether a mark stands on nothing, or too many on one letter."""
    alone = any(
        _category(c)[0] == "M" and before == " "
        for before, c in zip(" " + value, value, strict=False)
    )
    return alone or any(run > MARKS_MAX for run in _marks(value))


def _marks(value: str) -> Iterator[int]:
    """Yield for each character how many marks in a row end with it."""
    run = 0
    for character in value:
        run = run + 1 if _category(character) in ("Mn", "Me") else 0
        yield run
