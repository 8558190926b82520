"""Keys of tokens: valid and invalid values of JWT_KEYS; an error never shows a key."""

import base64
import functools
import hashlib
import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from django.core.management import call_command

from socialsite.core.runtime import keys

pytestmark = pytest.mark.once

SECRET = keys.new("secret")
PAYLOAD = {"uid": "1"}


def private_pem(key, password: bytes | None = None) -> str:
    hidden = serialization.BestAvailableEncryption(password) if password else None
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        hidden or serialization.NoEncryption(),
    ).decode()


def public_pem(key) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


@functools.cache
def ed():
    return ed25519.Ed25519PrivateKey.generate()


@functools.cache
def big(bits: int = 2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


@pytest.mark.parametrize(("kind", "algorithm"), [("ed25519", "EdDSA"), ("rsa", "RS256")])
def test_a_pair_signs_and_its_public_half_verifies_under_the_same_name(kind, algorithm) -> None:
    (line,) = keys.read([keys.new(kind)])
    key = keys.parse(line)
    token = jwt.encode(PAYLOAD, key.signing, algorithm)
    half = keys.parse(
        key.verifying.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()
    )
    assert (half.kid, half.algorithm, half.signing) == (key.kid, algorithm, None)
    assert jwt.decode(token, half.verifying, [algorithm]) == PAYLOAD
    assert jwt.decode(token, jwt.PyJWK(key.jwk or {}), [algorithm]) == PAYLOAD


def test_the_public_half_of_a_key_is_published_with_its_thumbprint() -> None:
    key = keys.parse(private_pem(ed()))
    x = base64.urlsafe_b64encode(ed().public_key().public_bytes_raw()).decode().rstrip("=")
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).digest()
    kid = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    members = {"kty": "OKP", "crv": "Ed25519", "x": x}
    assert key.jwk == members | {"kid": kid, "alg": "EdDSA", "use": "sig"}
    assert set(keys.parse(private_pem(big())).jwk or ()) == {"kty", "n", "e", "kid", "alg", "use"}
    assert keys.parse(SECRET).jwk is None


def test_a_redacted_secret_shows_its_name() -> None:
    """Tokens of older versions have this `kid`."""
    text = "a text of no less than thirty-two bytes"
    assert keys.parse(text).kid == hashlib.sha256(b"kid:" + text.encode()).hexdigest()[:8]


def test_a_key_may_stand_in_a_file_or_in_one_line(tmp_path, monkeypatch) -> None:
    pem = private_pem(ed()).strip()
    path = tmp_path / "signing.pem"
    path.write_text(pem + "\n")
    assert keys.read([str(path)]) == keys.read([pem.replace("\n", "\\n")]) == [pem]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("signing.pem", "./signing.pem", "~/signing.pem"):
        assert keys.read([name]) == [pem]


@functools.cache
def refused() -> dict[str, tuple[list[str], str]]:
    pem, other = private_pem(ed()), private_pem(big())
    return {
        "short": (["x1y2z3" * 5], "key 1 is too short"),
        "one character short": ([SECRET[:31]], "key 1 is too short"),
        "the same character": (["a" * 64], "key 1 is too easy to guess"),
        "a word again and again": (["changeme" * 8], "key 1 is too easy to guess"),
        "small RSA": ([private_pem(big(1024))], "key 1 is too weak: RSA needs at least 2048"),
        "a small public half": ([SECRET, public_pem(big(1024))], "key 2 is too weak"),
        "twice": ([SECRET, pem, SECRET], "key 3 is a duplicate"),
        "private and public": ([pem, public_pem(ed())], "key 2 is a duplicate"),
        "public first": ([public_pem(ed()), SECRET], "key 1 is a public key"),
        "cut off": ([pem[: len(pem) // 2]], "key 1 is not a readable PEM key"),
        "not its content": ([pem.replace("M", "N", 1)], "key 1 is not a readable PEM key"),
        "a certificate": (["-----BEGIN CERTIFICATE-----\nAAAA"], "key 1 is not a readable PEM"),
        "behind a password": ([private_pem(ed(), b"word")], "key 1 is encrypted"),
        "two in one": ([pem + other], "key 1 is not exactly one PEM key"),
        "words before it": (["key: " + pem], "key 1 is not exactly one PEM key"),
        "a curve": ([private_pem(ec.generate_private_key(ec.SECP256R1()))], "of an unknown kind"),
        "Ed448": ([private_pem(ed448.Ed448PrivateKey.generate())], "key 1 is of an unknown kind"),
        "no file": (["/nowhere/" + "x1y2" * 20], "looks like the path of a file that cannot be"),
        "no PEM file": (["nowhere.pem"], "looks like the path of a file that cannot be read"),
        "a directory": (["/"], "looks like the path of a file that cannot be read"),
        "a file of something else": (
            [functools.__file__],
            "is the path of a file without a PEM",
        ),
        "a file that is no text": (["/bin/true"], "cannot be read: it is no text"),
        "no person's home": (["~nobody-of-that-name/key"], "cannot be read: it is no text"),
        "a NUL": (["/dev\0/null"], "cannot be read: it is no text"),
    }


@pytest.mark.parametrize("case", list(refused()))
def test_a_bad_key_is_refused_in_a_line_that_does_not_show_it(case) -> None:
    entries, said = refused()[case]
    with pytest.raises(ValueError, match=said) as caught:
        keys.read(entries)
    text = str(caught.value)
    assert "\n" not in text
    assert not any(entry[5:25] in text for entry in entries if len(entry) > 5)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("kind", ["secret", "ed25519", "rsa"])
def test_make_key_prints_a_value_for_the_setting(kind, capsys) -> None:
    call_command("make_key", kind=kind)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert "," not in line
    key = keys.parse(keys.read([line.strip()])[0])
    assert key.algorithm == {"secret": "HS256", "ed25519": "EdDSA", "rsa": "RS256"}[kind]
    assert key.signing is not None


def test_a_key_does_not_show_itself() -> None:
    for text in (SECRET, private_pem(ed())):
        assert text[30:50] not in repr(keys.parse(text))


def test_files_of_keys_are_read_at_start_only(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    path.write_text(private_pem(ed()))
    texts = keys.read([str(path)])
    path.unlink()
    assert keys.ring(texts)[0].signing is not None
