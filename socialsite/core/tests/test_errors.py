"""The codes of errors, on which clients rely."""

import pytest

from socialsite.core.errors import AppError

pytestmark = pytest.mark.once

FROZEN = """
    0 UNKNOWN_ERROR 500
    1 USER_NOT_FOUND 404
    2 PASSWORD_NOT_CORRECTED 401
    3 USER_BANNED 403
    4 DUPLICATED_USER 409
    5 REG_MATCH_ERROR 400
    6 EXPIRED_JWT 401
    7 BANNED_REFRESH_TOKEN 401
    8 BANNED_ACCESS_TOKEN 401
    9 BLACKLISTED 403
    10 FOLLOW_LIMIT 409
    11 RATE_LIMITED 429
    12 SELF_RELATION 400
    13 INVALID_INPUT 400
    14 NOT_AUTHENTICATED 401
    15 INVALID_TOKEN 401
    16 FORBIDDEN 403
    17 NOT_FOUND 404
    18 METHOD_NOT_ALLOWED 405
    19 CSRF_FAILED 403
    20 PAYLOAD_TOO_LARGE 413
    21 UNAVAILABLE 503
    22 COMMENTS_CLOSED 403
    23 UNSUPPORTED_MEDIA 415
    24 IDEMPOTENCY_CONFLICT 409
    25 OTP_REQUIRED 401
    26 OTP_NOT_CORRECTED 401
    27 TWO_FACTOR_NEEDED 403
    28 WRONG_LINK 400
    29 STALE_VERSION 409
"""


def _named(base: type[AppError]) -> set[type[AppError]]:
    """Return all subclasses of an error that have a code of their own."""
    own = {error for error in base.__subclasses__() if "code" in vars(error)}
    return own.union(*(_named(error) for error in base.__subclasses__()))


def test_the_codes_of_errors_are_frozen() -> None:
    frozen = {int(code): (name, int(status)) for code, name, status in _rows(FROZEN)}
    errors = {AppError} | _named(AppError)
    codes = {error.code: (error.name, error.status) for error in errors}
    assert len(codes) == len(errors)
    assert codes == codes | frozen


def _rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]
