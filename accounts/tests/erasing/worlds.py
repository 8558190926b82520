"""A person who did everything, with people around, for tests of the erasure."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import actions as accounts_actions
from accounts import erasing
from accounts.models import Closing, Invite, InvitedPerson, Passkey, SignUpRequest, User
from feeds import actions as feeds_actions
from feeds.content.polls.definition import Given
from feeds.discovery.tags import actions as tag_actions
from feeds.drafts import actions as drafts
from interactions import actions as interactions_actions
from interactions.models import Case, ReportedKind
from relations.models import Dismissal, SuggestionList
from socialsite.core.exports import jobs
from socialsite.core.imports import jobs as imports
from socialsite.core.media import pictures
from socialsite.core.models import (
    Announcement,
    AnnouncementDismissal,
    IdempotencyKey,
    Import,
    ImportItem,
    VideoUpload,
)
from socialsite.tests.blocks.block_world import World
from socialsite.tests.support.pictures import picture

EMAIL = "xanthippe@example.org"


class Everything(World):
    """The people of the block matrix; `hidden` has a row in every table, and is erased."""

    def __init__(self, make_user: Callable[..., User]) -> None:
        super().__init__(make_user)
        self.block()
        who, third = self.hidden, self.third
        User.objects.filter(pk=who.pk).update(
            email=EMAIL, email_key=EMAIL, bio="Wife of Socrates", place="Athens", language="en"
        )
        accounts_actions.sign_in(who, client="other")
        StaticToken.objects.create(device=StaticDevice.objects.create(user=who), token="x")
        TOTPDevice.objects.create(user=who)
        Passkey.objects.create(
            user=who, credential_id=b"zq", credential_hash="zq", public_key=b"zq", name="zq"
        )
        invite = Invite.objects.create(maker=who, ends_at=datetime.now(UTC))
        InvitedPerson.objects.create(user=third, invite=invite)
        of_third = Invite.objects.create(maker=third, ends_at=datetime.now(UTC))
        InvitedPerson.objects.create(user=who, invite=of_third)
        SignUpRequest.objects.create(
            state="waiting", username="waiter", username_key="waiter", invite=invite
        )
        staff = self.users["staff"]
        LogEntry.objects.create(
            user=staff,
            content_type=ContentType.objects.get_for_model(User),
            object_id=str(who.pk),
            object_repr=str(who),
            action_flag=2,
        )
        Dismissal.objects.create(user=who, other=third)
        Dismissal.objects.create(user=third, other=who)
        IdempotencyKey.objects.create(user_id=who.pk, key="k", fingerprint="f")
        AnnouncementDismissal.objects.create(
            user_id=who.pk, announcement=Announcement.objects.get()
        )
        tag_actions.follow(who, "matter")
        feeds_actions.publish(third, content=f"for @{who.username}", visibility="mentioned")
        SuggestionList.objects.create(user=who, candidates=[third.pk], computed_at=0)
        SuggestionList.objects.create(user=third, candidates=[who.pk], computed_at=0)
        VideoUpload.objects.create(owner_id=who.pk, source="none", size=9, changed_at=0)
        jobs.request(who.pk)
        jobs.work_off(lambda _who, file, _report: file.writelines([b"zq"]))
        self._imports(who, third)
        avatar, banner, shown, drafted, _unused = self._pictures(who)
        accounts_actions.edit_profile(who, avatar=avatar, banner=banner)
        accounts_actions.take(who, "banner", staff)
        feeds_actions.publish(who, content="look", images=[shown])
        drafts.create(who, {"content": "zq", "images": [drafted]})
        # A vote in somebody else's poll, a report, an answer to a comment without other traces.
        poll = feeds_actions.publish(
            third,
            content="which?",
            poll=Given(options=["a", "b"], multiple=False, ends_at=None, lasts=86400),
        )
        self.poll = poll.pk
        interactions_actions.vote(who, poll.pk, [0])
        interactions_actions.vote(third, poll.pk, [1])
        interactions_actions.report(who, ReportedKind.USER, third.pk, "spam", "reported by zq")
        interactions_actions.bookmark(who, poll.pk)
        self.lonely = interactions_actions.comment(who, poll.pk, "zqlonely").pk
        self.answered = interactions_actions.comment(who, poll.pk, "zqanswered").pk
        interactions_actions.comment(third, poll.pk, "an answer", self.answered)
        self.plain = feeds_actions.publish(who, content="zqplain").pk
        interactions_actions.note_case(staff, self._case(who.pk), "zqnote about this person")

    @staticmethod
    def _imports(who: User, third: User) -> None:
        """A file of the person waits, and both imported the other."""
        imports.request(who.pk, "follows", BytesIO(b"zq"), 2)
        for owner, other in ((who, third), (third, who)):
            made = Import.objects.create(
                owner_id=owner.pk, kind="follows", state="done", due_at=0, created_at=1
            )
            ImportItem.objects.create(
                import_id=made.pk, row=1, source=other.username, target_id=other.pk, at=1
            )

    @staticmethod
    def _pictures(user: User) -> list[int]:
        files = [(BytesIO(picture()), "zqalt") for _ in range(5)]
        return [item.pk for item in pictures.store_all(user.pk, files)]

    @staticmethod
    def _case(user_id: int) -> int:
        return Case.objects.get(kind=ReportedKind.USER, subject_id=user_id).pk


def close(user: User) -> None:
    """Close an account long ago, as its person does."""
    now = timezone.now()
    User.objects.filter(pk=user.pk).update(deleted_at=now)
    Closing.objects.create(user=user, closed_at=now, erase_at=now - timedelta(hours=1))


def erase(user: User, settle: Callable[[], None], limit: int = erasing.CHUNK) -> None:
    """Erase a closed account, delivering events in between."""
    for _ in range(20):
        Closing.objects.update(lease=0)
        if erasing.work_off(seconds=600):
            settle()
            return
        settle()
    raise AssertionError("the erasure does not end")
