"""Forged access tokens by name; `forgery` makes others by a seed."""

import base64
import json

import jwt
from django.conf import settings

from socialsite.core.runtime import keys

KEY = settings.JWT_KEYS[0]
KID = keys.parse(KEY).kid
OTHER_KEY = "another key that is also long enough to sign"
GONE = object()
HEADER = {"alg": "HS256", "typ": "JWT", "kid": KID}
DEEP = b"[" * 2900
BAD_CLAIMS = {
    "uid": [GONE, 1, None, "", "0", "-1", "abc", "1.5", "１２", "9" * 19, "9" * 20, [], "1\n"],
    "cli": [GONE, 1, None, "", "x" * 65, []],
    "ver": [GONE, 0, -1, "1", True, None, 1.0, 2**31, 10**30],
    "bat": [GONE, 0, -1, "1", True, None, 1.0, 2**31],
    "typ": [GONE, "refresh", "Access", "", None, 1, ["access"]],
    "exp": [GONE, "soon", True, None, [], -1, 2**60, float("inf"), 1e400],
    "iat": [GONE, "now", None, True],
    "jti": [GONE, None, 1, "", "x" * 33],
    "rol": [GONE, None, "7", -1, True],
    "iss": [GONE, "elsewhere", "", 1, None],
    "aud": [GONE, "elsewhere", "", 1, None, []],
    "nbf": [2**40, "later", float("inf")],
}


def part(value) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def signed(header, payload, key=KEY, bits=256) -> str:
    """Sign any two parts, even those that no library would write."""
    body = f"{part(header)}.{part(payload)}"
    algorithm = jwt.algorithms.HMACAlgorithm(getattr(jwt.algorithms.HMACAlgorithm, f"SHA{bits}"))
    signature = algorithm.sign(body.encode(), key.encode())
    return f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def forge(token: str, *, key=KEY, headers=None, bits=256, **claims) -> str:
    """Return a copy of a token with changed claims (GONE removes one), signed by a key."""
    payload = jwt.decode(token, options={"verify_signature": False}) | claims
    payload = {name: value for name, value in payload.items() if value is not GONE}
    header = HEADER | {"alg": f"HS{bits}"} | (headers or {})
    return signed(header, payload, key, bits)


def forgeries(pair) -> dict[str, str]:
    """Return name → access token that must raise InvalidToken."""
    token = pair.access
    head, body, signature = token.split(".")
    claims = jwt.decode(token, options={"verify_signature": False})
    found = {
        "alg none": f"{part({'alg': 'none', 'typ': 'JWT', 'kid': KID})}.{body}.",
        "alg none, old signature": f"{part({'alg': 'none', 'kid': KID})}.{body}.{signature}",
        "alg None": f"{part({'alg': 'None', 'kid': KID})}.{body}.{signature}",
        "alg HS512 and the right key": forge(token, bits=512),
        "alg HS384 and the right key": forge(token, bits=384),
        "alg RS256": f"{part({'alg': 'RS256', 'kid': KID})}.{body}.{signature}",
        "alg of a wrong type": f"{part({'alg': 1, 'kid': KID})}.{body}.{signature}",
        "no alg": f"{part({'kid': KID})}.{body}.{signature}",
        "another key": forge(token, key=OTHER_KEY),
        "another key by its own kid": forge(
            token, key=OTHER_KEY, headers={"kid": keys.parse(OTHER_KEY).kid}
        ),
        "an empty key": signed(HEADER, claims)[:-43] + "A" * 43,
        "no kid": signed({"alg": "HS256"}, claims),
        "kid is a path": forge(token, headers={"kid": "../../dev/null"}),
        "kid is a list": signed(HEADER | {"kid": [KID]}, claims),
        "kid is a number": signed(HEADER | {"kid": 1}, claims),
        "a key of their own in the header": forge(
            token, key=OTHER_KEY, headers={"jwk": {"kty": "oct", "k": part(OTHER_KEY.encode())}}
        ),
        "an unknown critical header": signed(HEADER | {"crit": ["x"], "x": 1}, claims),
        "unencoded payload": signed(HEADER | {"b64": False, "crit": ["b64"]}, claims),
        "the refresh token": pair.refresh,
        "expired and of the wrong type": forge(token, exp=1, typ="refresh"),
        "expired and for someone else": forge(token, exp=1, aud="elsewhere"),
        "expired with another key": forge(token, exp=1, key=OTHER_KEY),
        "payload is a list": signed(HEADER, [1]),
        "payload is text": signed(HEADER, "x"),
        "payload is not JSON": signed(HEADER, b"{"),
        "payload is not UTF-8": signed(HEADER, b"\xff\xfe"),
        "payload is empty": signed(HEADER, b""),
        "a deep payload": signed(HEADER, DEEP),
        "a deep header": f"{part(DEEP)}.e30.{signature}",
        "header is a list": f"{part([])}.{body}.{signature}",
        "header is not JSON": f"{part(b'{')}.{body}.{signature}",
        "an endless number": signed(HEADER, b'{"exp":' + b"9" * 2800 + b"}"),
        "truncated": token[:-1],
        "without signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "four parts": f"{token}.{signature}",
        "one more character": token + "A",
        "another payload": f"{head}.{part(claims | {'rol': 7})}.{signature}",
        "other letters": f"{head}.{body}.{signature.swapcase()}",
        "padding": token + "==",
        "nothing but dots": "..",
        "no token at all": "token",
        "beyond ASCII": "é" * 50,
        "too long": f"{head}.{'A' * 5000}.{signature}",
        "too long by a claim": forge(token, more="x" * 5000),
    }
    for name, values in BAD_CLAIMS.items():
        for value in values:
            text = "missing" if value is GONE else repr(value)[:24]
            found[f"{name} {text}"] = forge(token, **{name: value})
    return found
