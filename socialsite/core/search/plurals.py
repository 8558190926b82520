"""Bring English plurals and their singulars into one form, by their endings.

The form is no word of a dictionary: `movie` and `movies` are `movy`, `cache` and `caches` `cach`.
"""

# Plurals whose endings do not tell their singulars.
_IRREGULAR_PAIRS = """
    men:man women:woman children:child feet:foot teeth:tooth geese:goose mice:mouse
    halves:half knives:knife leaves:leaf lives:life loaves:loaf scarves:scarf shelves:shelf
    thieves:thief wives:wife wolves:wolf
    analyses:analysis crises:crisis diagnoses:diagnosis hypotheses:hypothesis theses:thesis
    asses:ass buses:bus gases:gas quizzes:quiz
    emojis:emoji kiwis:kiwi skis:ski taxis:taxi wikis:wiki gurus:guru menus:menu
"""
_IRREGULAR = dict(pair.split(":") for pair in _IRREGULAR_PAIRS.split())
# Words that end in -s and are no plurals.
_SINGULAR = frozenset(("alias", "atlas", "bias", "canvas", "chaos", "christmas", "lens", "news"))
# After these endings a plural has -es, and a singular has the same form with -e and without.
_WITH_E = ("se", "xe", "ze", "che", "she", "oe")
_SHORTEST = 3


def singular(word: str) -> str:
    """Return the form of a word in lower case; words of other scripts and short ones stay."""
    word = _IRREGULAR.get(word, word)
    if word[-1:] not in ("s", "e") or len(word) <= _SHORTEST or not word.isascii():
        return word
    if word[-1] == "s" and word not in _SINGULAR and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) <= _SHORTEST:
        return word
    if word.endswith("ie"):
        return word[:-2] + "y"
    # `lose` is not `Los`, nor `dose` `DOS`.
    has_e = word.endswith(_WITH_E) and (len(word) > _SHORTEST + 1 or word[-2] != "s")
    return word[:-1] if has_e else word
