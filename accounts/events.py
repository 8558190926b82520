"""What accounts tells."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _UserEvent(DomainEvent):
    """Something about one person."""

    aggregate_type: ClassVar[str] = "user"
    aggregate_field: ClassVar[str] = "user_id"

    user_id: int


@dataclass(frozen=True, slots=True)
class UserRegistered(_UserEvent):
    """There is a new person."""


@dataclass(frozen=True, slots=True)
class ProfileChanged(_UserEvent):
    """What others see of a person changed: nickname, picture, bio."""


@dataclass(frozen=True, slots=True)
class UserSignedIn(_UserEvent):
    """A person signed in on a client; an older sign-in of that client has ended."""

    client: str


@dataclass(frozen=True, slots=True)
class UserBanned(_UserEvent):
    """A person is banned: what they wrote is hidden, every token of theirs is dead."""


@dataclass(frozen=True, slots=True)
class UserUnbanned(_UserEvent):
    """A person is no longer banned."""


@dataclass(frozen=True, slots=True)
class RolesChanged(_UserEvent):
    """A person's roles are others now; access tokens with the old ones are dead."""

    roles: int


@dataclass(frozen=True, slots=True)
class TokensRevoked(_UserEvent):
    """Tokens up to a number are dead: a version of one client, or a batch when client is None.

    `access_only` says that refresh tokens live on. Reasons: login limit logout kicked password
    forced ban roles reuse. `by` names the device that did it, `spared` is the client that got a new
    pair at the same time.
    """

    client: str | None
    floor: int
    reason: str
    access_only: bool
    by: str = ""
    spared: str | None = None


@dataclass(frozen=True, slots=True)
class MailWanted(DomainEvent):
    """A mail is to be sent, of a kind that `accounts.mail` knows, in a language.

    `user_id` is 0 where it is about whoever has the address. A mail that could not be sent is
    wanted again, at a later time: after so many `tries`. `counted` says that budgets gave for it.
    """

    aggregate_type: ClassVar[str] = "mail"
    aggregate_field: ClassVar[str] = "mail_id"

    mail_id: int
    kind: str
    user_id: int
    address: str
    language: str
    tries: int = 0
    counted: bool = False
