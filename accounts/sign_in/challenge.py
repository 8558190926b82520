"""The task at sign-up: work for a browser when many accounts are created from one network.

- A task is needed while a budget of sign-ups of the requester is at least half used up.
- It is a proof of work of ALTCHA: search the number whose hash, with the salt, is given. No third
  party takes part, and the site stores nothing until a solution is used.
- A solution creates one account, until the task expires. The database counts that, in the
  transaction that takes the other tokens of the sign-up, so a refused sign-up gives it back.
"""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypedDict

import orjson
from altcha import v1
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from socialsite.core.errors import ChallengeNeeded
from socialsite.core.rate_limits import allowances, budgets
from socialsite.core.rate_limits.allowances import Instead
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.requests import request_budgets

# The hashes that a browser tries at most, half as many on average. A desktop tries about 60,000 in
# a second. At a quarter of its speed, like a phone, it tries 20,000: 5 seconds at most.
MAXIMUM = 100_000
# Enough to fill in the form. The token of a used solution flows back later, after an hour.
LIFETIME = timedelta(minutes=20)
# A solution has about 350 characters.
SOLUTION_MAX = 1000
ALGORITHM: Final = "SHA-256"
SALT = "accounts.sign_in.challenge"
STRAINED = 0.5


class Challenge(TypedDict):
    """A task as ALTCHA's clients expect it."""

    algorithm: str
    challenge: str
    maxnumber: int
    salt: str
    signature: str


def is_needed(request: HttpRequest) -> bool:
    """Return whether a sign-up by this request needs a solution."""
    if budgets.CHALLENGE.rate is None:
        return False
    return allowances.share_left(request_budgets.of_sign_up(request, "")) <= STRAINED


def new() -> Challenge:
    """Return a new task."""
    made = v1.create_challenge(
        v1.ChallengeOptions(
            algorithm=ALGORITHM,
            max_number=MAXIMUM,
            hmac_key=_key(),
            expires=datetime.now(UTC) + LIFETIME,
        )
    )
    return {
        "algorithm": made.algorithm,
        "challenge": made.challenge,
        "maxnumber": made.max_number,
        "salt": made.salt,
        "signature": made.signature,
    }


def new_if_needed(request: HttpRequest) -> Challenge | None:
    """Return a new task, or None if a sign-up by this request needs none."""
    return new() if is_needed(request) else None


def takes(request: HttpRequest, solution: str) -> list[Take]:
    """Return the tokens of a sign-up with this solution; none if no solution is needed.

    Raises ChallengeNeeded for a missing, wrong or expired solution.
    """
    if not is_needed(request):
        return []
    signature = _signature(solution)
    if not signature:
        raise refusal()
    return [Take(budgets.CHALLENGE, signature)]


def refusal() -> ChallengeNeeded:
    """Return the error for a sign-up without a usable solution."""
    return ChallengeNeeded(fields={"challenge": [ChallengeNeeded.message]})


def if_used() -> Instead:
    """Return the error for a used solution, for `allowances.spent`."""
    return {budgets.CHALLENGE: refusal()}


def _signature(solution: str) -> str:
    """Return the signature of the task that was solved; empty if it is not solved, or expired.

    The signature identifies a task. The salt does not: it can be written in two ways.
    """
    if len(solution) > SOLUTION_MAX:
        return ""
    try:
        found = orjson.loads(base64.b64decode(solution, validate=True))
    except ValueError:
        return ""
    if not _is_payload(found):
        return ""
    solved, _reason = v1.verify_solution(v1.Payload.from_dict(found), _key())
    return str(found["signature"]) if solved else ""


def _is_payload(found: Any) -> bool:
    """Check types before the library does: it would take a text for a part of the salt."""
    return (
        isinstance(found, dict)
        and found.get("algorithm") == ALGORITHM
        and type(found.get("number")) is int
        and all(isinstance(found.get(name), str) for name in ("challenge", "salt", "signature"))
    )


def _key() -> str:
    return salted_hmac(SALT, "", algorithm="sha256").hexdigest()
