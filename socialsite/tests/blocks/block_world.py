"""The people of the block matrix: Hidden, the readers, and a person who is banned later."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from accounts import actions as accounts_actions
from accounts.models import (
    Closing,
    Invite,
    PushSubscription,
    Role,
    SignUpRequest,
    StaffRole,
    User,
)
from feeds import actions as feeds_actions
from feeds.content.polls.definition import Given
from feeds.discovery.search import indexing
from feeds.discovery.tags import actions as tag_actions
from feeds.discovery.tags import ranking
from feeds.drafts import actions as drafts
from feeds.models import Post, RecommendedAuthor
from interactions import actions as interactions_actions
from interactions.actions import rising
from interactions.models import ReportedKind, SubjectType
from relations import actions as relations_actions
from socialsite.core.media import stored_files
from socialsite.core.models import (
    Announcement,
    Export,
    Import,
    Media,
    SiteDocument,
    SiteSettings,
    Video,
)
from socialsite.tests.blocks.block_matrix import READERS

NOTHING = 1234567890123456789
# Names of ids of Hidden's objects.
OF_HIDDEN = (
    *("post_id", "private_id", "few_id", "alone_id"),
    *("comment_id", "draft_id", "film_id", "private_film_id"),
)


class World:
    """Hidden, who did everything; a person to be banned, who did too; a third one; the readers."""

    def __init__(self, make_user: Callable[..., User]) -> None:
        self.hidden = make_user("xanadu77", nickname="Xanthippe")
        self.gone = make_user("vulgar88", nickname="Voldemort")
        self.third = make_user("third1")
        self.users = {name: make_user(f"{name}1") for name in READERS if name != "anonymous"}
        accounts_actions.promote(self.users["staff"], Role.MEMBER | Role.MODERATOR)
        accounts_actions.force_offline(self.hidden, self.users["staff"])
        act = accounts_actions.warn(self.hidden, self.users["staff"])
        accounts_actions.appeal(self.hidden, act.pk, "No")
        SiteSettings.objects.create(contact="staff@example.org")
        SiteDocument.objects.create(kind="rules", version=1, text_en="Be kind")
        Invite.objects.create(maker=self.users["staff"], ends_at=datetime.now(UTC))
        later = datetime.now(UTC) + timedelta(days=9)
        Closing.objects.create(user=self.users["banned"], erase_at=later)
        SignUpRequest.objects.create(state="waiting", username="asker", username_key="asker")
        job = {"owner_id": self.users["banned"].pk, "due_at": 2**60, "created_at": 1}
        Export.objects.create(**job)
        Import.objects.create(kind=Import.Kind.POSTS, **job)
        StaffRole.objects.create(bit=8, name="Helpers", name_key="helpers", rights=1)
        Announcement.objects.create(text_en="Backup", ends_at=datetime.now(UTC))
        # They show that calls refused to others can succeed.
        self.owners = {"hidden": self.hidden, "third": self.third}
        self.mine: dict[str, int] = {}
        self.marks: dict[str, str] = {}
        # Marks that nobody may find, and those of the person who is to be banned.
        self.never: list[str] = []
        self.of_gone: list[str] = []
        self.names: dict[str, Any] = {
            "hidden": self.hidden.pk,
            "username": self.hidden.username,
            "third": self.third.pk,
            "third_name": self.third.username,
        }
        PushSubscription.objects.create(
            user=self.hidden,
            client="other",
            version=1,
            batch=1,
            endpoint="https://push.example/secret",
        )
        self._meet()
        self._write()

    def _meet(self) -> None:
        people = self.users.values()
        for person in (self.hidden, self.gone):
            relations_actions.follow(self.third, person)
            relations_actions.follow(person, self.third)
        for name, reader in self.users.items():
            relations_actions.follow(reader, self.third)
            relations_actions.follow(self.gone, reader)
            # For a block without a follow to end, the block itself is the only event.
            if name != "blocker":
                relations_actions.follow(self.hidden, reader)
            if name not in ("stranger", "staff", "blocker"):
                relations_actions.follow(reader, self.hidden)
        relations_actions.follow(self.users["stranger"], self.gone)
        names = {"username": self.hidden.username, "nickname": self.hidden.nickname}
        self.marks = {**names, "hidden": str(self.hidden.pk)}
        for person in (self.hidden, self.gone, self.third):
            RecommendedAuthor.objects.create(author=person)
            accounts_actions.edit_profile(person, likes_shown=True)
        self.of_gone = [self.gone.username, self.gone.nickname, str(self.gone.pk)]
        for reader in people:
            post = feeds_actions.publish(reader, content="one's own")
            self.mine[reader.username.removesuffix("1")] = post.pk

    def _write(self) -> None:
        third = feeds_actions.publish(self.third, content="of somebody else #matter").pk
        answered = interactions_actions.comment(self.third, third, "what do you think?").pk
        self.names |= {"third_post": third, "third_comment": answered}
        for person, mark in ((self.hidden, "zq"), (self.gone, "vq")):
            ids: dict[str, int] = {}
            kinds = (
                *("post", "former", "private", "few", "alone", "film", "private_film"),
                *("comment", "spoken", "reply", "draft", "option"),
            )
            texts = {kind: f"{mark}{kind}" for kind in kinds}
            poll = Given(options=[texts["option"], "no"], multiple=False, ends_at=None, lasts=86400)
            ids["post"] = feeds_actions.publish(person, content=texts["former"], poll=poll).pk
            feeds_actions.edit(person, ids["post"], 1, content=f"{texts['post']} #matter")
            ids["comment"] = interactions_actions.comment(person, third, texts["spoken"]).pk
            interactions_actions.edit_comment(person, ids["comment"], texts["comment"], 1)
            ids["reply"] = interactions_actions.comment(person, third, texts["reply"], answered).pk
            ids["repost"] = feeds_actions.repost(person, third)[0].pk
            quote = feeds_actions.repost(self.third, ids["post"], "look at this")[0].pk
            interactions_actions.vote(person, ids["post"], [0])
            interactions_actions.fold_votes(ids["post"])
            interactions_actions.like(person, SubjectType.POST, third)
            interactions_actions.like(person, SubjectType.COMMENT, answered)
            interactions_actions.like(self.third, SubjectType.POST, ids["post"])
            interactions_actions.like(self.third, SubjectType.COMMENT, ids["comment"])
            interactions_actions.comment(self.third, third, "me too", ids["comment"])
            for name, reader in self.users.items():
                tag_actions.follow(reader, "matter")
                mention = feeds_actions.publish(person, content=f"{mark}mention @{reader.username}")
                ids[f"mention {name}"] = mention.pk
                interactions_actions.like(person, SubjectType.POST, self.mine[name])
                interactions_actions.comment(person, self.mine[name], f"{texts['comment']} too")
                interactions_actions.bookmark(reader, ids["post"])
                interactions_actions.bookmark(reader, quote)
                interactions_actions.like(reader, SubjectType.POST, ids["post"])
                interactions_actions.comment(reader, ids["post"], "me too")
            ids["private"] = feeds_actions.publish(
                person, content=f"#{texts['private']} #matter", visibility="followers", poll=poll
            ).pk
            # For people whom it names: the follower; and for nobody.
            few = f"{texts['few']} #matter @{self.users['follower'].username}"
            ids["few"] = feeds_actions.publish(person, content=few, visibility="mentioned").pk
            ids["alone"] = feeds_actions.publish(
                person, content=f"{texts['alone']} #matter", visibility="self"
            ).pk
            for name, visibility in (("film", "public"), ("private_film", "followers")):
                ids[name] = self._film(person, texts[name], visibility).pk
            ids["draft"] = drafts.create(person, {"content": texts["draft"]}).pk
            self._report(person, ids)
            texts["mention"] = f"{mark}mention"
            if person is self.hidden:
                self.marks |= texts
                self.marks |= {f"{kind}_id": str(ident) for kind, ident in ids.items()}
                self.names |= {f"{kind}_id": ident for kind, ident in ids.items()}
                self.names["quote_id"] = quote
            else:
                self.of_gone += [*texts.values(), *map(str, ids.values())]
        for ident in Post.objects.values_list("pk", flat=True):
            indexing.refresh(ident)
        assert rising.rank()
        assert ranking.rank()

    def _film(self, person: User, title: str, visibility: str) -> Post:
        """Publish a video that is not ready."""
        item = Media.objects.create(
            owner_id=person.pk,
            name=stored_files.new_video_name(),
            width=160,
            height=120,
            size=1,
            is_video=True,
        )
        Video.objects.create(media=item, uploaded_at=0)
        return feeds_actions.publish(
            person, kind="video", video=item.pk, title=title, visibility=visibility
        )

    def _report(self, person: User, ids: dict[str, int]) -> None:
        """Report each kind of object of a person to staff."""
        self.marks["secret"] = "xqsecret"
        for kind, ident in (
            (ReportedKind.POST, ids["post"]),
            (ReportedKind.POST, ids["private"]),
            (ReportedKind.COMMENT, ids["comment"]),
            (ReportedKind.USER, person.pk),
        ):
            interactions_actions.report(self.third, kind, ident, "spam", self.marks["secret"])

    def ban(self) -> None:
        """Ban them: nobody may find them from now on."""
        accounts_actions.ban(self.gone)
        accounts_actions.ban(self.users["banned"])
        self.never = self.of_gone

    def block(self) -> None:
        """Create the blocks."""
        relations_actions.block(self.hidden, self.users["blocked"])
        relations_actions.block(self.users["blocker"], self.hidden)
        relations_actions.block(self.hidden, self.users["mutual"])
        relations_actions.block(self.users["mutual"], self.hidden)

    def filled(self, text: str, reader: str, nothing: bool = False) -> str:
        """Put ids into a path or a value; with `nothing`, ids of Hidden's that do not exist."""
        names = {**self.names, "mine": self.mine.get(reader, self.names["third_post"])}
        names["me"] = self.users[reader].pk if reader in self.users else self.third.pk
        if nothing:
            for name in names:
                if name in ("hidden", *OF_HIDDEN):
                    names[name] = NOTHING
            names["username"] = "nobody99"
        return text.format(**names)
