"""Forges tokens from live ones, reproducibly by a seed: inputs of an attacker or of a bug.

Every forgery has the error code that must refuse it: 15, or 6 for a valid token that has expired.
"""

import base64
import functools
import hashlib
import hmac
import itertools
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from accounts.tokens.decoding import MAX_LENGTH
from socialsite.core.runtime import keys

GONE = object()
LETTERS = string.ascii_letters + string.digits + "-_"
HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}


@functools.cache
def ring() -> list[str]:
    """Return one key of each kind, cached. RSA is as short as allowed, as it takes long."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=keys.RSA_BITS)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return keys.read([keys.new("ed25519"), pem.decode(), keys.new("secret")])


@functools.cache
def strangers() -> dict[str, Any]:
    """Return foreign keys by algorithm."""
    return {
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        "RS256": rsa.generate_private_key(public_exponent=65537, key_size=keys.RSA_BITS),
        "HS256": keys.new("secret"),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
    }


def part(value: Any) -> str:
    """Return one part of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token."""
    head, body, _ = token.split(".")
    first, second = (
        json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) for text in (head, body)
    )
    return first, second


def signature(algorithm: str, key: Any, text: bytes) -> bytes:
    """Sign by any algorithm, with anything that can serve as its key."""
    digest: Any = HASHES.get(algorithm[2:])  # None for an algorithm without one
    match algorithm[:2], key:
        case "Ed", ed25519.Ed25519PrivateKey():
            return key.sign(text)
        case "RS", rsa.RSAPrivateKey():
            return key.sign(text, padding.PKCS1v15(), digest)
        case "PS", rsa.RSAPrivateKey():
            salted = padding.PSS(padding.MGF1(digest), padding.PSS.DIGEST_LENGTH)
            return key.sign(text, salted, digest)
        case "ES", ec.EllipticCurvePrivateKey():
            return key.sign(text, ec.ECDSA(digest))[:64]
        case "HS", str() | bytes():
            raw = key.encode() if isinstance(key, str) else key
            return hmac.digest(raw, text, f"sha{algorithm[2:]}")
    return hashlib.sha512(text).digest()


def sealed(header: Any, payload: Any, algorithm: str, key: Any) -> str:
    """Return a signed token with this header and payload."""
    text = f"{part(header)}.{part(payload)}"
    return f"{text}.{part(signature(algorithm, key, text.encode()))}"


@dataclass(frozen=True)
class Forgery:
    """A token that must be refused."""

    family: str
    token: str
    code: int = 15

    @property
    def plain(self) -> bool:
        """Return whether a cookie can carry it unchanged."""
        return self.token.isascii() and not set(self.token) & set(' \t\r\n";,\\\0')


IDS: list[Any] = [
    GONE,
    None,
    1,
    True,
    1.5,
    "",
    "0",
    "-1",
    "+1",
    " 1",
    "1\n",
    "1e3",
    "0x1",
    "１２３",
]
IDS += ["٣٤", "²", "9" * 19, "9" * 20, "9" * 3000, [], {}, ["1"], "1 OR 1=1", "..", "\0"]
CLAIMS: dict[str, list[Any]] = {
    "uid": IDS,
    "cli": [GONE, None, 1, True, "", "x" * 65, [], {}],
    "ver": [GONE, None, True, False, 0, -1, 1.0, "1", "１", 2**31, 2**63, 10**300, 1e308, [], {}],
    "bat": [GONE, None, True, False, 0, -1, 1.0, "1", "１", 2**31, 2**63, 10**300, 1e308, [], {}],
    "exp": [GONE, None, True, -1, "9999999999", 1e12, float("inf"), float("nan"), 2**60, [], {}],
    "iat": [GONE, None, True, -1, "0", 1.5, float("inf"), float("nan"), 2**60, [], {}],
    "jti": [GONE, None, 1, True, "", "x" * 33, [], {}],
    "iss": [GONE, None, "", 1, True, "elsewhere", "Socialsite", "socialsite ", ["elsewhere"], {}],
    "aud": [GONE, None, "", 1, True, "elsewhere", "Socialsite", "socialsite ", [], ["x"], {}],
    "nbf": [2**40, 10**300, "later", "2040-01-01", float("inf"), [], {}],
}
TYPES = [
    GONE,
    None,
    "",
    1,
    True,
    "Access",
    "ACCESS",
    "access ",
    "Refresh",
    "id",
    [],
    ["access"],
    {},
]
KIDS = [
    GONE,
    None,
    "",
    0,
    -1,
    True,
    [],
    {},
    "unknown",
    "../../../dev/null",
    "/dev/null",
    "file:///etc",
]
KIDS += [
    "' OR '1'='1",
    "1; DROP TABLE accounts_user",
    "x" * 3000,
    "\0",
    "ключ",
    "https://evil.example/k",
]
EXTRA: list[dict[str, Any]] = [
    {"jku": "https://evil.example/jwks.json"},
    {"x5u": "https://evil.example/chain.pem"},
    {"x5c": ["MIIB"]},
    {"x5t": "AAAA"},
    {"crit": ["exp"]},
    {"crit": []},
    {"crit": ["b64"], "b64": False},
    {"b64": False},
    {"b64": True},
    {"zip": "DEF"},
    {"cty": "JWT"},
    {"typ": "at+jwt"},
    {"typ": "JWE"},
    {"typ": None},
    {"enc": "A256GCM"},
    {"alg": "none"},
]
Maker = Callable[["Forger"], "str | tuple[str, int]"]
FAMILIES: dict[str, Maker] = {}


def family(maker: Maker) -> Maker:
    """Register a kind of forgery."""
    FAMILIES[maker.__name__] = maker
    return maker


class Forger:
    """Forges tokens of one kind from live tokens of that kind and of the other kind."""

    def __init__(self, live: list[str], others: list[str], seed: str) -> None:
        self.dice = random.Random(seed)
        self.live, self.others = live, others
        self.kind = opened(live[0])[1]["typ"]
        self.keys = keys.ring(ring())
        claims = [(name, value) for name, values in CLAIMS.items() for value in values]
        self.dice.shuffle(claims)
        self.claims_in_turn = itertools.cycle(claims)

    def any(self) -> str:
        """Return a live token."""
        return self.dice.choice(self.live)

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a live token with changes; GONE removes a claim."""
        found = opened(self.any())[1] | changes
        return {name: value for name, value in found.items() if value is not GONE}

    def signed(self, claims: Any, key: keys.Key | None = None, **header: Any) -> str:
        """Sign with one of the site's own keys; `header` changes the header in the same way."""
        key = key or self.dice.choice(self.keys)
        found = {n: v for n, v in (key.header | header).items() if v is not GONE}
        return sealed(found, claims, key.algorithm, key.signing)

    def make(self, count: int) -> list[Forgery]:
        """Return this number of forgeries, from each family in turn."""
        found: list[Forgery] = []
        names = [*FAMILIES, "odd_claim", "odd_claim"]  # it has the most cases
        while len(found) < count:
            name = names[len(found) % len(names)]
            made = FAMILIES[name](self)
            token, code = made if isinstance(made, tuple) else (made, 15)
            if token and token not in self.live:
                found.append(Forgery(name, token, code))
        self.dice.shuffle(found)
        return found


@family
def no_algorithm(forger: Forger) -> str:
    """`alg: none` and its spellings, with and without a signature."""
    key = forger.dice.choice(forger.keys)
    header = key.header | {"alg": forger.dice.choice(["none", "None", "NONE", "nOnE", "", None, 0])}
    old = forger.any().rsplit(".", 1)[1]
    return f"{part(header)}.{part(forger.claims())}.{forger.dice.choice(['', old, 'AA'])}"


@family
def public_key_as_secret(forger: Forger) -> str:
    """Algorithm confusion: HMAC with the public half of a pair as the secret."""
    key = forger.dice.choice([key for key in forger.keys if key.jwk])
    pem = key.verifying.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    der = key.verifying.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    secret = forger.dice.choice([pem, pem.strip(), der, json.dumps(key.jwk), key.kid, "", b"\0"])
    algorithm = forger.dice.choice(["HS256", "HS384", "HS512"])
    header = key.header | {"alg": forger.dice.choice([algorithm, key.algorithm])}
    return sealed(header, forger.claims(), algorithm, secret)


@family
def another_algorithm_of_the_key(forger: Forger) -> str:
    """The site's own key, but with another algorithm than its own."""
    key = forger.dice.choice(forger.keys)
    algorithm = forger.dice.choice(
        {
            "HS256": ["HS384", "HS512"],
            "RS256": ["RS384", "RS512", "PS256", "PS384"],
            "EdDSA": ["Ed25519", "ES256", "ED25519"],
        }[key.algorithm]
    )
    return sealed(key.header | {"alg": algorithm}, forger.claims(), algorithm, key.signing)


@family
def key_of_another_name(forger: Forger) -> str:
    """Signed by one of the site's keys under the `kid` of another."""
    one, other = forger.dice.sample(forger.keys, 2)
    header = one.header | {"alg": forger.dice.choice([one.algorithm, other.algorithm])}
    return sealed(header, forger.claims(), other.algorithm, other.signing)


@family
def key_of_a_stranger(forger: Forger) -> str:
    """A foreign key under the `kid` of one of ours, also with the key in the header."""
    key = forger.dice.choice(forger.keys)
    algorithm = forger.dice.choice([key.algorithm, *strangers()])
    some: list[dict[str, Any]] = [{}, {"alg": algorithm}, {"jwk": {"kty": "oct", "k": "AAAA"}}]
    header = key.header | forger.dice.choice(some) | forger.dice.choice([{}, *EXTRA])
    return sealed(header, forger.claims(rol=7), algorithm, strangers()[algorithm])


@family
def odd_name_of_the_key(forger: Forger) -> str:
    """An unknown or malformed `kid` on a token signed by the site."""
    return forger.signed(forger.claims(), kid=forger.dice.choice(KIDS))


@family
def odd_header(forger: Forger) -> str:
    """Headers that name a key or request an extension, on a token signed by the site."""
    return forger.signed(forger.claims(), **forger.dice.choice(EXTRA))


@family
def header_of_nonsense(forger: Forger) -> str:
    """A header that is not a JSON object."""
    key = forger.keys[0]
    raw = [b"", b"{", b"null", b"[]", b'"x"', b"1", b"\xff\xfe", b"[" * 2000, b"9" * 2000]
    return sealed(forger.dice.choice(raw), forger.claims(), key.algorithm, key.signing)


@family
def odd_claim(forger: Forger) -> str:
    """One missing or malformed claim, signed by the site."""
    name, value = next(forger.claims_in_turn)
    return forger.signed(forger.claims(**{name: value}))


@family
def odd_number(forger: Forger) -> str:
    """Odd values of the numbers that revocation compares."""
    name = forger.dice.choice(["ver", "bat"] + (["rol"] if forger.kind == "access" else []))
    value = forger.dice.choice([True, False, None, GONE, "7", 1.5, -1, [], 10**300, 2**31])
    return forger.signed(forger.claims(**{name: value}))


@family
def odd_type(forger: Forger) -> str:
    """A type other than access and refresh."""
    return forger.signed(forger.claims(typ=forger.dice.choice(TYPES)))


@family
def the_other_kind(forger: Forger) -> str:
    """A refresh token used as access token, and the reverse."""
    return forger.dice.choice(forger.others)


@family
def several_claims(forger: Forger) -> str:
    """Several wrong claims, expiry among them: the error must not be "expired"."""
    names = forger.dice.sample(list(CLAIMS), 3)
    changes = {name: forger.dice.choice(CLAIMS[name]) for name in names}
    return forger.signed(forger.claims(**({"exp": 1} | changes)))


@family
def payload_of_nonsense(forger: Forger) -> str:
    """A payload without claims, signed by the site."""
    raw: list[Any] = [b"", b"{", b"null", b"[]", b'"x"', b"1", b"\xff\xfe", b"[" * 2000, {}]
    raw += [[forger.claims()], b'{"exp":' + b"9" * 2000 + b"}", b'{"a":' * 700, b"\xef\xbb\xbf{}"]
    return forger.signed(forger.dice.choice(raw))


@family
def expired(forger: Forger) -> tuple[str, int]:
    """A valid token that has expired."""
    claims = forger.claims()
    age = forger.dice.choice([0, 1, 60, 10**6])
    return forger.signed(claims | {"exp": claims["iat"] - age, "iat": claims["iat"] - age - 9}), 6


@family
def expired_and_forged(forger: Forger) -> str:
    """Expired and forged at once."""
    head, body, old = forger.signed(forger.claims(exp=1)).split(".")
    return forger.dice.choice([f"{head}.{body}.{old[::-1]}", f"{head}.{body}.", f"{head}.{body}"])


@family
def cut_off(forger: Forger) -> str:
    """The beginning of a live token, or its end."""
    token = forger.any()
    place = forger.dice.randrange(1, len(token))
    return forger.dice.choice([token[:place], token[place:]])


@family
def one_letter(forger: Forger) -> str:
    """A live token with one letter changed, anywhere."""
    token = forger.any()
    place = forger.dice.choice([n for n, letter in enumerate(token) if letter != "."])
    letter = forger.dice.choice([one for one in LETTERS if one != token[place]])
    return token[:place] + letter + token[place + 1 :]


@family
def one_bit(forger: Forger) -> str:
    """A live token with one bit of header, claims or signature changed."""
    parts = forger.any().split(".")
    number = forger.dice.randrange(3)
    raw = bytearray(base64.urlsafe_b64decode(parts[number] + "=" * (-len(parts[number]) % 4)))
    raw[forger.dice.randrange(len(raw))] ^= 1 << forger.dice.randrange(8)
    parts[number] = part(bytes(raw))
    return ".".join(parts)


@family
def claims_exchanged(forger: Forger) -> str:
    """Changed claims with an old signature."""
    head, _, old = forger.any().split(".")
    uid = str(forger.dice.randrange(1, 2**62))
    some: list[dict[str, Any]] = [{"rol": 7}, {"uid": uid}, {"exp": 2**40}, {"ver": 9}, {"bat": 9}]
    changes = forger.dice.choice(some)
    return f"{head}.{part(forger.claims(**changes))}.{old}"


@family
def parts_exchanged(forger: Forger) -> str:
    """Parts of several live tokens combined."""
    while True:
        sources = [forger.dice.choice(forger.live + forger.others).split(".") for _ in range(3)]
        token = ".".join(parts[number] for number, parts in enumerate(sources))
        if token not in forger.live + forger.others:
            return token


@family
def number_of_parts(forger: Forger) -> str:
    """One, two, four or five parts, or empty ones."""
    head, body, old = forger.any().split(".")
    parts = [head, body, old, *forger.any().split(".")]
    count = forger.dice.choice([1, 2, 4, 5, 6])
    odd = [".".join(parts[:count]), "..", ".", "....", f"{head}..{old}", f".{body}.{old}"]
    return forger.dice.choice([*odd, f"{head}.{body}.", f"{head}.{body}.{old}."])


@family
def no_base64(forger: Forger) -> str:
    """A live token with a character that no token contains."""
    token = forger.any()
    place = forger.dice.randrange(len(token) + 1)
    odd = forger.dice.choice(
        ["=", "==", "+", "/", "!", "%", "\t", " ", "\n", "é", "１", "\0", "😀"]
    )
    return token[:place] + odd + token[place:]


@family
def too_long(forger: Forger) -> str:
    """Longer than any token, even with valid content."""
    long = "x" * forger.dice.randrange(MAX_LENGTH, 3 * MAX_LENGTH)
    head, body, old = forger.any().split(".")
    texts = [forger.signed(forger.claims(more=long)), long, f"{head}.{body}{long}.{old}"]
    return forger.dice.choice(texts)


@family
def noise(forger: Forger) -> str:
    """Random text."""
    letters = forger.dice.choice([LETTERS + ".", string.printable, "é😀１\0. "])
    return "".join(forger.dice.choices(letters, k=forger.dice.randrange(1, 400)))
