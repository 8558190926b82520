"""Events that the accounts app publishes."""

from dataclasses import dataclass, field
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _UserEvent(DomainEvent):
    """An event about one person."""

    aggregate_type: ClassVar[str] = "user"
    aggregate_field: ClassVar[str] = "user_id"

    user_id: int


@dataclass(frozen=True, slots=True)
class UserRegistered(_UserEvent):
    """A person signed up."""


@dataclass(frozen=True, slots=True)
class ProfileChanged(_UserEvent):
    """A profile changed: a name, a picture, a text or a setting."""


@dataclass(frozen=True, slots=True)
class UserSignedIn(_UserEvent):
    """A person signed in on a client, whose older sign-in has ended."""

    withheld: ClassVar[frozenset[str]] = frozenset({"client"})

    client: str


@dataclass(frozen=True, slots=True)
class UserBanned(_UserEvent):
    """A person was banned: their posts and comments are hidden, their tokens revoked."""


@dataclass(frozen=True, slots=True)
class UserUnbanned(_UserEvent):
    """A ban was lifted."""


@dataclass(frozen=True, slots=True)
class UserClosed(_UserEvent):
    """A person closed the account: their posts and comments are hidden, their tokens revoked."""


@dataclass(frozen=True, slots=True)
class UserReopened(_UserEvent):
    """A person took a closed account back."""


@dataclass(frozen=True, slots=True)
class UserLimited(_UserEvent):
    """A person was limited, or a limit was lifted."""


@dataclass(frozen=True, slots=True)
class StaffActed(_UserEvent):
    """Staff acted on a person, or an act was undone or an appeal decided; `ref` is unique."""

    ref: int


@dataclass(frozen=True, slots=True)
class RolesChanged(_UserEvent):
    """A person's roles changed; access tokens with the old roles are revoked."""

    roles: int


@dataclass(frozen=True, slots=True)
class TokensRevoked(_UserEvent):
    """Tokens up to a number were revoked: a version of one client, or a batch if client is None.

    `access_only`: refresh tokens stay valid. Reasons: login limit logout kicked password forced ban
    suspend closed roles reuse. `by` names the device that did it; `spared` is the client that got a
    new pair at the same time.
    """

    withheld: ClassVar[frozenset[str]] = frozenset({"client", "by", "spared"})

    client: str | None
    floor: int
    reason: str
    access_only: bool
    by: str = ""
    spared: str | None = None


@dataclass(frozen=True, slots=True)
class MailWanted(DomainEvent):
    """A mail is to be sent: its kind (see `accounts.mail.messages`) and its language.

    `user_id` is 0 if the mail is for every account of the address. A mail that failed is published
    again for a later time, with the number of `tries` so far. `counted`: its budget tokens are
    already taken. `detail` is what its writer needs besides the person.
    """

    aggregate_type: ClassVar[str] = "mail"
    aggregate_field: ClassVar[str] = "mail_id"
    streamed: ClassVar[bool] = False

    mail_id: int
    kind: str
    user_id: int
    address: str
    language: str
    tries: int = 0
    counted: bool = False
    detail: list[int] = field(default_factory=list)
