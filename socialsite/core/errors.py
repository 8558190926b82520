"""All errors that domain code raises, each with a stable code and an HTTP status.

Codes 0-8 come from the seed, all later ones are the project's own. All are frozen.
`core.http.api` turns an error into the API's envelope, `socialsite.pages.middleware` into a page.
"""

import errno
from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise
# errno values of an OSError: the disk, or this account's quota on it, is full.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class AppError(Exception):
    """Base of all errors with a code. `fields` maps an input field to what is wrong with it."""

    code: ClassVar[int] = 0
    name: ClassVar[str] = "UNKNOWN_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[Text] = _("Something went wrong on our side.")

    def __init__(
        self,
        detail: Text | None = None,
        *,
        fields: Mapping[str, Sequence[Text]] | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.detail = self.message if detail is None else detail
        self.fields = fields
        self.retry_after = retry_after
        super().__init__(str(self.detail))

    def envelope(self) -> dict[str, object]:
        """Return `{"code", "error", "detail", "fields"?}` for an API body."""
        body: dict[str, object] = {
            "code": self.code,
            "error": self.name,
            "detail": str(self.detail),
        }
        if self.fields:
            body["fields"] = {
                key: [str(text) for text in value] for key, value in self.fields.items()
            }
        return body


class UnknownError(AppError):
    """An unexpected failure; only the log has the cause."""


class UserNotFound(AppError):
    """No user has that name or id, or the reader may not see them."""

    code, name, status, message = 1, "USER_NOT_FOUND", 404, _("There is no such person.")


class PasswordNotCorrected(AppError):
    """The one error for every failed login."""

    code, name, status = 2, "PASSWORD_NOT_CORRECTED", 401
    message = _("The username or the password is wrong.")


class UserBanned(AppError):
    """The account is banned; shown only after a correct password."""

    code, name, status, message = 3, "USER_BANNED", 403, _("This account is banned.")


class DuplicatedUser(AppError):
    """The username is taken; case is ignored."""

    code, name, status, message = 4, "DUPLICATED_USER", 409, _("This username is taken.")


class RegMatchError(AppError):
    """Username, nickname or password breaks its rule."""

    code, name, status = 5, "REG_MATCH_ERROR", 400
    message = _("Please correct the marked fields.")


class ExpiredJwt(AppError):
    """The token has expired."""

    code, name, status, message = 6, "EXPIRED_JWT", 401, _("Your sign-in has expired.")


class BannedRefreshToken(AppError):
    """The refresh token was revoked."""

    code, name, status = 7, "BANNED_REFRESH_TOKEN", 401
    message = _("You have been signed out. Please log in again.")


class BannedAccessToken(AppError):
    """The access token was revoked."""

    code, name, status = 8, "BANNED_ACCESS_TOKEN", 401
    message = _("You have been signed out. Please log in again.")


class Blacklisted(AppError):
    """The other person has blocked the actor."""

    code, name, status = 9, "BLACKLISTED", 403
    message = _("This person has blocked you.")


class FollowLimit(AppError):
    """The actor already follows the maximum number of people."""

    code, name, status = 10, "FOLLOW_LIMIT", 409
    message = _("You have reached the maximum number of people you can follow.")


class RateLimited(AppError):
    """Too many requests; `retry_after` is in seconds."""

    code, name, status = 11, "RATE_LIMITED", 429
    message = _("Too many requests. Please wait a moment.")


class SelfRelation(AppError):
    """An attempt to follow or block oneself."""

    code, name, status, message = 12, "SELF_RELATION", 400, _("You cannot do this to yourself.")


class InvalidInput(AppError):
    """A value of the request is malformed; `fields` names it."""

    code, name, status, message = 13, "INVALID_INPUT", 400, _("Please correct the marked fields.")


class NotAuthenticated(AppError):
    """The request has no credentials but needs them."""

    code, name, status, message = 14, "NOT_AUTHENTICATED", 401, _("Please log in.")


class InvalidToken(AppError):
    """The token is malformed, forged or of the wrong type."""

    code, name, status, message = 15, "INVALID_TOKEN", 401, _("Please log in again.")


class Forbidden(AppError):
    """The actor may not do this."""

    code, name, status, message = 16, "FORBIDDEN", 403, _("You may not do this.")


class NotFound(AppError):
    """The object does not exist, or the reader may not see it: the answer is the same."""

    code, name, status, message = 17, "NOT_FOUND", 404, _("There is nothing here.")


class MethodNotAllowed(AppError):
    """The address exists, but not with this HTTP method."""

    code, name, status = 18, "METHOD_NOT_ALLOWED", 405
    message = _("This address does not support that method.")


class CsrfFailed(AppError):
    """A write authenticated by cookie has no valid CSRF token."""

    code, name, status = 19, "CSRF_FAILED", 403
    message = _("The page was open for too long. Please load it again.")


class PayloadTooLarge(AppError):
    """The body exceeds its address's limit (`server.body_limits`), or a picture is too large."""

    code, name, status, message = 20, "PAYLOAD_TOO_LARGE", 413, _("That is too large.")


class Unavailable(AppError):
    """The database is unavailable; nothing was done."""

    code, name, status = 21, "UNAVAILABLE", 503
    message = _("The site is busy. Please try again in a moment.")


class CommentsClosed(AppError):
    """The author closed the comments."""

    code, name, status, message = 22, "COMMENTS_CLOSED", 403, _("Comments are closed.")


class UnsupportedMedia(AppError):
    """The site does not accept this kind of body or picture."""

    code, name, status = 23, "UNSUPPORTED_MEDIA", 415
    message = _("This kind of file is not supported.")


class IdempotencyConflict(AppError):
    """The Idempotency-Key was already used with another request."""

    code, name, status = 24, "IDEMPOTENCY_CONFLICT", 409
    message = _("This Idempotency-Key was used for another request.")


class OtpRequired(AppError):
    """The password is correct, but the account also needs a two-factor code."""

    code, name, status = 25, "OTP_REQUIRED", 401
    message = _("Please enter the code from your authenticator app.")


class OtpNotCorrected(AppError):
    """The two-factor code is wrong, already used, or too old."""

    code, name, status = 26, "OTP_NOT_CORRECTED", 401
    message = _("This code is wrong or was already used.")


class TwoFactorNeeded(AppError):
    """Staff must set up two-factor authentication before they use their powers."""

    code, name, status = 27, "TWO_FACTOR_NEEDED", 403
    message = _("Please set up two-factor sign-in first.")


class WrongLink(AppError):
    """The link of an e-mail is used, expired, or incomplete."""

    code, name, status = 28, "WRONG_LINK", 400
    message = _("This link is no longer valid. Please request a new one.")


class StaleVersion(AppError):
    """The object was changed since the version that an edit is based on."""

    code, name, status = 29, "STALE_VERSION", 409
    message = _("This was changed in the meantime. Please look at the present version first.")


class SignUpClosed(AppError):
    """The site takes no new accounts."""

    code, name, status = 30, "SIGN_UP_CLOSED", 403
    message = _("Nobody can sign up at the moment.")


class ApprovalPending(AppError):
    """The account is not open yet: staff decide about it, or its address is not confirmed."""

    code, name, status = 31, "APPROVAL_PENDING", 403
    message = _("Your account is not open yet: we are still looking at your request.")


class Suspended(AppError):
    """Staff suspended the account for some time; shown only after a correct password."""

    code, name, status = 32, "SUSPENDED", 403
    message = _("You cannot log in at the moment: the staff suspended your account.")


class AccountClosing(AppError):
    """The person closed the account and can take it back; shown only after right credentials.

    `closes_at` is the time from which it is erased, in the format of `core.times.iso`.
    """

    code, name, status, message = 33, "ACCOUNT_CLOSING", 403, _("This account is closed.")

    def __init__(self, detail: Text | None = None, *, closes_at: str = "") -> None:
        self.closes_at = closes_at
        super().__init__(detail)

    def envelope(self) -> dict[str, object]:
        """Return the body with `closes_at`."""
        return super().envelope() | {"closes_at": self.closes_at}


class TermsNotAccepted(AppError):
    """The terms of the site, or new ones, must be accepted first."""

    code, name, status = 35, "TERMS_NOT_ACCEPTED", 403
    message = _("Please read the terms of use and accept them.")


class QuotaExceeded(AppError):
    """The person has as many of these as one may have."""

    code, name, status = 36, "QUOTA_EXCEEDED", 409
    message = _("You have too many of these.")


class PollClosed(AppError):
    """The end of the poll is past."""

    code, name, status, message = 37, "POLL_CLOSED", 403, _("This poll is closed.")


class AlreadyVoted(AppError):
    """The person voted with other choices: a vote cannot be changed."""

    code, name, status = 38, "ALREADY_VOTED", 409
    message = _("You have voted in this poll already.")


class ChallengeNeeded(AppError):
    """The task at sign-up must be solved first, or the solution is wrong, expired or used."""

    code, name, status = 39, "CHALLENGE_NEEDED", 403
    message = _(
        "Many accounts were created from your network: a task must be solved. Please try again."
    )


class AlreadyAppealed(AppError):
    """The person objected to this act before, or it is undone."""

    code, name, status = 40, "ALREADY_APPEALED", 409
    message = _("You can object once to each decision that stands.")


class FreshLoginNeeded(AppError):
    """The device signed in too long ago for what it asks for."""

    code, name, status = 41, "FRESH_LOGIN_NEEDED", 403
    message = _("For your safety, please log in again first.")


class PasskeyRefused(AppError):
    """A passkey is unknown, removed, not of this person, or its answer is wrong or late."""

    code, name, status = 42, "PASSKEY_REFUSED", 401
    message = _("This passkey does not work here. Try again, or log in with your password.")
