"""Staff acts on people: warn, limit, suspend, ban, take parts of a profile, and undo each of them;
force offline, reset the second factor.

- `actor` is the staff member, or None for a command on the server, which may do everything. The
  actor's rights are read under the lock of both people (`authority`).
- Each act that changes something adds one entry to the audit trail. Those that the person reads,
  with their grounds, are recorded besides (`staff_acts`).
"""

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import cache
from accounts.actions import staff_acts
from accounts.actions.authority import check_over
from accounts.actions.mails import write_of
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.actions.staff_acts import NO_ANSWER, NO_GROUNDS, Answer, Grounds, Kind
from accounts.audit import Act, note
from accounts.credentials import two_factor
from accounts.events import (
    ProfileChanged,
    UserBanned,
    UserLimited,
    UserUnbanned,
)
from accounts.models import Passkey, StaffAct, User
from socialsite.core import db, ids
from socialsite.core.errors import InvalidInput, NotFound
from socialsite.core.events import publish
from socialsite.core.media import pictures
from socialsite.core.rights import Right

# The longest suspension; a longer one is a ban.
SUSPEND_DAYS_MAX = 365
# How long something taken can be given back.
TAKEN_DAYS = 180
# What staff may take from a profile: the column, and the act.
PARTS = {
    "avatar": ("avatar_name", Kind.TAKE_AVATAR),
    "banner": ("banner_name", Kind.TAKE_BANNER),
    "bio": ("bio", Kind.TAKE_BIO),
}


@db.atomic
def warn(
    user: User, actor: User | None = None, address: str = "", grounds: Grounds = NO_GROUNDS
) -> StaffAct:
    """Warn a person: they read the words, and nothing else changes.

    Like all of these acts, raises Forbidden or TwoFactorNeeded, and InvalidInput for the grounds.
    """
    check_over(actor, user, Right.PEOPLE)
    user.refresh_from_db()
    act = staff_acts.record(Kind.WARN, user, actor, grounds)
    note(actor, Act.WARN, "user", user.pk, grounds.detail, address)
    return act


@db.atomic
def limit(
    user: User, actor: User | None = None, address: str = "", grounds: Grounds = NO_GROUNDS
) -> User:
    """Limit a person: neither they nor their posts are recommended or found by a search."""
    check_over(actor, user, Right.PEOPLE)
    user.refresh_from_db()
    if user.limited_at is None:
        _set_limited(user, limited=True)
        staff_acts.record(Kind.LIMIT, user, actor, grounds)
        note(actor, Act.LIMIT, "user", user.pk, grounds.detail, address)
    return user


@db.atomic
def unlimit(
    user: User, actor: User | None = None, address: str = "", answer: Answer = NO_ANSWER
) -> User:
    """Lift a limit."""
    check_over(actor, user, answer.right or Right.PEOPLE)
    user.refresh_from_db()
    if user.limited_at is not None:
        _set_limited(user, limited=False)
        staff_acts.end(Kind.LIMIT, user, actor, answer)
        note(actor, Act.UNLIMIT, "user", user.pk, address=address)
    return user


def _set_limited(user: User, *, limited: bool) -> None:
    user.limited_at = timezone.now() if limited else None
    user.save(update_fields=["limited_at"])
    publish(UserLimited(user.pk))
    cache.card_changed(user.pk)


@fenced
def suspend(
    user: User,
    actor: User | None = None,
    address: str = "",
    grounds: Grounds = NO_GROUNDS,
    *,
    days: int = 1,
) -> User:
    """Suspend a person for some days: revoke every token and refuse log-ins; their posts stay.

    A new suspension replaces the one before, also in an open appeal. Raises InvalidInput (`days`).
    """
    if not 1 <= days <= SUSPEND_DAYS_MAX:
        text = _("A number of days from 1 to %(most)s.") % {"most": SUSPEND_DAYS_MAX}
        raise InvalidInput(fields={"days": [text]})
    batch = locked_batch(user)
    check_over(actor, user, Right.PEOPLE)
    user.refresh_from_db()
    user.suspended_until = timezone.now() + timedelta(days=days)
    user.save(update_fields=["suspended_until"])
    revoke_batch(batch, "suspend")
    act = staff_acts.record(Kind.SUSPEND, user, actor, grounds, until=user.suspended_until)
    staff_acts.replace(Kind.SUSPEND, user, actor, act)
    note(actor, Act.SUSPEND, "user", user.pk, grounds.detail | {"days": days}, address)
    return user


@fenced
def unsuspend(
    user: User, actor: User | None = None, address: str = "", answer: Answer = NO_ANSWER
) -> User:
    """End a suspension before its time. Old tokens stay dead."""
    locked_batch(user)
    check_over(actor, user, answer.right or Right.PEOPLE)
    user.refresh_from_db()
    if user.is_suspended:
        user.suspended_until = None
        user.save(update_fields=["suspended_until"])
        staff_acts.end(Kind.SUSPEND, user, actor, answer)
        note(actor, Act.UNSUSPEND, "user", user.pk, address=address)
    return user


@fenced
def ban(
    user: User, actor: User | None = None, address: str = "", grounds: Grounds = NO_GROUNDS
) -> User:
    """Ban a person: revoke every token, refuse log-ins, hide everything they wrote."""
    batch = locked_batch(user)
    check_over(actor, user, Right.PEOPLE)
    user.refresh_from_db()
    if user.banned_at is None:
        user.banned_at = timezone.now()
        user.save(update_fields=["banned_at"])
        revoke_batch(batch, "ban")
        publish(UserBanned(user.pk))
        cache.standing_changed(user.pk)
        staff_acts.record(Kind.BAN, user, actor, grounds)
        note(actor, Act.BAN, "user", user.pk, grounds.detail, address)
    return user


@fenced
def unban(
    user: User, actor: User | None = None, address: str = "", answer: Answer = NO_ANSWER
) -> User:
    """Lift a ban. New sign-ins work; old tokens stay dead."""
    locked_batch(user)
    check_over(actor, user, answer.right or Right.PEOPLE)
    user.refresh_from_db()
    if user.banned_at is not None:
        user.banned_at = None
        user.save(update_fields=["banned_at"])
        publish(UserUnbanned(user.pk))
        cache.standing_changed(user.pk)
        staff_acts.end(Kind.BAN, user, actor, answer)
        note(actor, Act.UNBAN, "user", user.pk, address=address)
    return user


@db.atomic
def take(
    user: User,
    part: str,
    actor: User | None = None,
    address: str = "",
    grounds: Grounds = NO_GROUNDS,
) -> User:
    """Take a part of `PARTS` from a person's profile; it is kept while the act stands.

    Changes nothing if the profile has no such part.
    """
    column, kind = PARTS[part]
    check_over(actor, user, Right.PEOPLE)
    user.refresh_from_db()
    if taken := getattr(user, column):
        staff_acts.record(kind, user, actor, grounds, taken=taken)
        _set_part(user, column, "")
        if part != "bio":
            pictures.release(user.pk, file_names=[taken])
        note(actor, Act.TAKE, "user", user.pk, grounds.detail | {"part": part}, address)
    return user


def _set_part(user: User, column: str, value: str) -> None:
    setattr(user, column, value)
    user.save(update_fields=[column])
    publish(ProfileChanged(user.pk))
    cache.card_changed(user.pk)


def undo(
    act_id: int, actor: User | None = None, address: str = "", answer: Answer = NO_ANSWER
) -> bool:
    """Undo an act and grant the appeal against it; return False if it was undone already.

    Raises NotFound, also if the `answer` is to an appeal that is not open any more.
    """
    act = StaffAct.objects.select_related("user").filter(pk=act_id).first()
    if act is None:
        raise NotFound
    lift = {Kind.LIMIT: unlimit, Kind.SUSPEND: unsuspend, Kind.BAN: unban}.get(Kind(act.kind))
    if lift is not None and act.undone_at is None:
        lift(act.user, actor, address, answer)
    _undo_rest(act, actor, address, answer)
    return act.undone_at is None


@db.atomic
def _undo_rest(act: StaffAct, actor: User | None, address: str, answer: Answer) -> None:
    """Undo an act that still stands: a warning, something taken or deleted, a past suspension."""
    own = Right.CONTENT if act.kind in staff_acts.reversals else Right.PEOPLE
    check_over(actor, act.user, answer.right or own)
    act = StaffAct.objects.select_for_update().select_related("user").get(pk=act.pk)
    if act.undone_at is not None:
        return
    _give_back(act)
    staff_acts.end_one(act, actor, answer)
    note(actor, Act.UNDO, "user", act.user_id, {"act": act.kind}, address)


def _give_back(act: StaffAct) -> None:
    """Restore a post or comment, or what was taken from a profile.

    The person may have something new there, which stays.
    """
    if act.kind in staff_acts.reversals:
        if act.taken:
            staff_acts.reversals[act.kind].restore(act.subject_id, act.taken)
        return
    for part, (column, kind) in PARTS.items():
        if act.kind == kind and act.taken:
            if not getattr(act.user, column):
                _set_part(act.user, column, act.taken)
            if part != "bio":
                pictures.release(act.user_id, file_names=[act.taken])  # used or not: it is settled


def to_forget(before: datetime) -> "QuerySet[StaffAct]":
    """Return the acts before a moment whose taken things can still be given back."""
    always = [kind for kind, one in staff_acts.reversals.items() if one.forget is None]
    acts = StaffAct.objects.filter(pk__lt=ids.first_of(round(before.timestamp() * 1000)))
    return acts.exclude(taken="").exclude(kind__in=always)


@db.atomic
def forget_taken(limit: int = 20) -> int:
    """Forget what was taken TAKEN_DAYS ago: it cannot be given back any more.

    Returns the number of acts.
    """
    old = to_forget(timezone.now() - timedelta(days=TAKEN_DAYS))
    acts = list(old.select_for_update().order_by("pk")[:limit])
    for act in acts:
        taken, act.taken = act.taken, ""
        act.save(update_fields=["taken"])
        reversal = staff_acts.reversals.get(act.kind)
        if reversal is not None and reversal.forget is not None:
            reversal.forget(act.subject_id)
        elif act.kind != Kind.TAKE_BIO:
            pictures.release(act.user_id, file_names=[taken])
    return len(acts)


@fenced
def force_offline(user: User, actor: User | None = None, address: str = "") -> None:
    """End all sign-ins of a person, access and refresh tokens; they may log in again at once."""
    batch = locked_batch(user)
    check_over(actor, user, Right.PEOPLE)
    revoke_batch(batch, "forced")
    note(actor, Act.FORCE_OFFLINE, "user", user.pk, address=address)


@fenced
def reset_two_factor(user: User, actor: User | None = None, address: str = "") -> None:
    """Remove the second factor and the passkeys of a person who lost their devices; admins only.

    The sign-ins go on, since they are no weaker than before. The next log-in needs only the
    password.
    """
    locked_batch(user)
    check_over(actor, user)
    had_passkeys = Passkey.objects.filter(user=user.pk).delete()[0] > 0
    if two_factor.remove(user) or had_passkeys:
        note(actor, Act.OTP_RESET, "user", user.pk, address=address)
        write_of(Act.OTP_RESET, user)
