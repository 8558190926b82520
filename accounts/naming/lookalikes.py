"""Names that could be mistaken for others: by a skeleton that look-alikes have in common."""

import unicodedata

# Characters that look like a letter or digit, after compatibility forms and marks are removed: from
# confusables.txt of Unicode Technical Standard 39, single characters only.
_CONFUSABLES = {
    "2": "ƨϩᒿꙅꛯꝛ",
    "3": "ȝɜʒзӡⳍꝫ𑣊𖼻𝈆",
    "4": "Ꮞ𑣏",
    "5": "𑣛",
    "6": "бᏮⳓ",
    "7": "𐓺𝈒",
    "8": "ȣ৪੪𐌚",
    "9": "৭੧୨൭ⳋꝯ𑣌𑣖",
    "a": "ɑαаᎪᗅ⍺ꓮ𐊠𖽀",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵ𐊂𐊡𐌁",
    "c": "сᏟᴄⲥꓚ𐊢𐌂𐐽𐔜𑣩𑣲🝌",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓ",
    "e": "εеҽᎬ℮⋿ⴹꓰꬲ𐊆𑣎",
    "f": "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂𝈓",
    "g": "ƍɡԍցᏀᏳᶃꓖ",
    "h": "ηнһհᎻᏂᕼⲏꓧ𐋏",
    "j": "ʝϳјᎫᒍꓙ",
    "k": "κкᏦᛕⲕꓗ𐔘",
    "l": "ɩιіӏɪıᎥ⍳ꙇǀ۱Ꮮᒪᛁ∣⏽│ⲓⳑⵏꓡꓲ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨𝈪",
    "m": "μϻмᎷᗰᛖⲙꓟ𐊰𐌑",
    "n": "νոռⲛꓠ𐔓",
    "o": "οоσօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣗𑣠𑣕",
    "p": "ρрᏢᑭ⍴ⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ𐓜𖼵𝈖",
    "s": "ƽѕտᏕᏚꓢꜱ𐊖𐑈𑣁𖼺",
    "t": "τтᎢ⊤⟙ⲧꓔ𐊗𐊱𐌕𖼊🝨",
    "u": "υʋսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓶𑣘𖽂",
    "v": "ѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟ𐔝𑜆𑣀𖼈𝈍",
    "w": "ɯѡԝաᎳᏔᴡꓪ𑜊𑜎𑜏𑣦𑣯",
    "x": "×χхᕁᕽ᙭ᚷ╳⤫⤬⨯ⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγуүყᎩᎽᶌỿⲩꓬꭚ𐊲𖽃𑣜",
    "z": "ζᏃᴢꓜ𐋵𑣉𑣥",
}
# Small capitals, which that file leaves out.
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghljklmnoprstuvwyz", strict=True))
# ASCII characters that look alike; a capital I looks like a small l.
_ASCII = {"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "$": "s", "@": "a"}
_MAP = str.maketrans(
    _ASCII
    | _SMALL_CAPITALS
    | {look: plain for plain, looks in _CONFUSABLES.items() for look in looks}
)
_PAIRS = (("rn", "m"), ("vv", "w"))

# Words of the people who run a site. A Latin word counts if it stands alone in a name, a Chinese
# one wherever it is, since Chinese does not separate words.
_WORDS = """
    admin admins administrator administrators moderator moderators mod mods staff official officials
    support helpdesk security socialsite sysop webmaster root system
"""
_CHINESE = "管理员 管理員 版主 官方 站长 站長 客服 系统消息 系統消息"


def skeleton(text: str) -> str:
    """Return the letters and digits of a text as they look; equal for texts that look alike."""
    return "".join(_words(text))


def _words(text: str) -> list[str]:
    """Return the words of a text as they look, without marks, joiners and symbols."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(
        c for c in plain if unicodedata.category(c)[0] != "M" and c not in "\u200c\u200d"
    )
    looks = kept.translate(_MAP)
    for pair, letter in _PAIRS:
        looks = looks.replace(pair, letter)
    return "".join(c if c.isalnum() else " " for c in looks).split()


_STAFF = frozenset(skeleton(word) for word in _WORDS.split())


def names_staff(text: str) -> bool:
    """Return whether a name reads like that of somebody who runs the site."""
    words = _words(text)
    if "".join(words) in _STAFF or not _STAFF.isdisjoint(words):
        return True
    joined = "".join(words)
    return any(word in joined for word in _CHINESE.split())
