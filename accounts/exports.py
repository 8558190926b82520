"""What accounts adds to the archive of a person's own data."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from accounts import devices, staff_acts
from accounts.mail import choices
from accounts.models import Invite, Passkey, SignIn, StaffAct, User
from socialsite.core import ids
from socialsite.core.exports.archives import file_of
from socialsite.core.exports.parts import Field, Part, Record, in_steps
from socialsite.core.times import iso, iso_of


def _profile(user_id: int) -> Iterator[Record]:
    for user in User.objects.filter(pk=user_id):
        yield {
            "id": str(user.pk),
            "username": user.username,
            "nickname": user.nickname,
            "bio": user.bio,
            "place": user.place,
            "pronouns": user.pronouns,
            "links": user.links,
            "picture": [{"file": file_of(user.avatar_name)}] if user.avatar_name else [],
            "banner": [{"file": file_of(user.banner_name)}] if user.banner_name else [],
            "email": user.email,
            "email_not_confirmed": user.email_waiting,
            "language": user.language,
            "mails": choices.names_of(user.mails),
            "unfold_notes": user.unfold_notes,
            "show_sensitive": user.show_sensitive,
            "likes_shown": user.likes_shown,
            "terms_accepted": user.terms_accepted,
            "created_at": iso_of(user.created_at),
            "last_seen": iso_of(user.last_seen),
        }


PROFILE = Part(
    "profile",
    _("Public profile"),
    {
        "id": Field("string", "number of the account"),
        "username": Field("string", "name in addresses"),
        "nickname": Field("string", "shown name"),
        "bio": Field("string", "text of the profile"),
        "place": Field("string", ""),
        "pronouns": Field("string", ""),
        "links": Field("array", "addresses on the profile"),
        "picture": Field("array", "one object with `file`, a path in the archive; or none"),
        "banner": Field("array", "as `picture`"),
        "email": Field("string", "confirmed e-mail address"),
        "email_not_confirmed": Field("string", "address that waits for its confirmation"),
        "language": Field("string", "language of mails; empty: none was chosen"),
        "mails": Field("array", "chosen mails: sign_ins, mentions, digest"),
        "unfold_notes": Field("boolean|null", "show texts behind content notes; null: not chosen"),
        "show_sensitive": Field("boolean|null", "show sensitive pictures; null: not chosen"),
        "likes_shown": Field("boolean", "whether others see the liked posts"),
        "terms_accepted": Field("integer", "version of the accepted terms; 0 for none"),
        "created_at": Field("string", "time of the sign-up"),
        "last_seen": Field("string", "accurate to about five minutes"),
    },
    _profile,
)


def _sign_ins(user_id: int) -> Iterator[Record]:
    for step in in_steps(SignIn.objects.filter(user=user_id), "id"):
        for row in step:
            yield {
                "at": iso(ids.ms_of(row.pk)),
                "device": devices.name_of(row.client, row.user_agent),
                "client": row.client,
                "user_agent": row.user_agent,
                "address": row.address,
            }


SIGN_INS = Part(
    "sign_ins",
    _("Sign-ins"),
    {
        "at": Field("string", "time"),
        "device": Field("string", "browser or program, and operating system"),
        "client": Field("string", "kind of device, with its number if there is one"),
        "user_agent": Field("string", "what the browser said about itself"),
        "address": Field("string", "IP address; empty once it was erased"),
    },
    _sign_ins,
)


def _passkeys(user_id: int) -> Iterator[Record]:
    for step in in_steps(Passkey.objects.filter(user=user_id), "id"):
        for row in step:
            yield {
                "name": row.name,
                "created_at": iso_of(row.created_at),
                "last_used": row.last_used and iso_of(row.last_used),
            }


PASSKEYS = Part(
    "passkeys",
    _("Passkeys"),
    {
        "name": Field("string", ""),
        "created_at": Field("string", ""),
        "last_used": Field("string|null", "time of the last log-in with it"),
    },
    _passkeys,
)


def _decisions(user_id: int) -> Iterator[Record]:
    rows = StaffAct.objects.filter(user=user_id).select_related("appeal")
    for step in in_steps(rows, "id"):
        yield from (dict(staff_acts.body(act)) for act in step)


DECISIONS = Part(
    "staff_decisions",
    _("Staff decisions"),
    {
        "id": Field("string", ""),
        "kind": Field("string", "what was decided"),
        "reason": Field("string", ""),
        "words": Field("string", "what staff wrote to the person"),
        "until": Field("string|null", "end of a suspension"),
        "created_at": Field("string", "time of the decision"),
        "undone_at": Field("string|null", "time when it was undone"),
        "may_appeal": Field("boolean", "whether the person can still object"),
        "subject_id": Field("string|null", "the post or comment"),
        "appeal": Field("object|null", "text, state, created_at, decided_at and answer"),
    },
    _decisions,
)


def _invites(user_id: int) -> Iterator[Record]:
    for step in in_steps(Invite.objects.filter(maker=user_id), "id"):
        for row in step:
            yield {
                "code": row.code,
                "uses": row.uses,
                "used": row.used,
                "created_at": iso_of(row.created_at),
                "ends_at": iso_of(row.ends_at),
            }


INVITES = Part(
    "invitations",
    _("Invitations"),
    {
        "code": Field("string", "the end of its link"),
        "uses": Field("integer", "for how many people"),
        "used": Field("integer", "how many came"),
        "created_at": Field("string", ""),
        "ends_at": Field("string", ""),
    },
    _invites,
)
PARTS = (PROFILE, SIGN_INS, PASSKEYS, DECISIONS, INVITES)
