"""Moderation in plain Python: a few people, posts and comments, and what each act does to them.

People, posts and comments are numbers. A thing is a kind and a number, as is the key of a case. A
method of `Facts` does an act, or raises the error that the site must raise and changes nothing.
"""

from collections import Counter
from dataclasses import dataclass, field

from socialsite.core.errors import AlreadyAppealed, Forbidden, NotFound, UserNotFound

Thing = tuple[str, int]
AUTHOR, OTHER, FAN, ONE, TWO, ADMIN = PEOPLE = range(6)
NAMES = ("author1", "other1", "fan1", "moderator1", "moderator2", "admin1")
STAFF = (ONE, TWO, ADMIN)
# The authors of the posts; the last is a repost of the first. The fan follows both.
POSTS = (AUTHOR, AUTHOR, OTHER, OTHER)
REPOST = 3
# Author, post and answered comment.
COMMENTS = ((OTHER, 0, None), (AUTHOR, 0, 0), (FAN, 2, None))
THINGS: list[Thing] = [
    *(("post", n) for n in range(len(POSTS))),
    *(("comment", n) for n in range(len(COMMENTS))),
    *(("user", n) for n in PEOPLE),
]
LIFTED = {"limit": "unlimit", "suspend": "unsuspend", "ban": "unban"}


@dataclass
class Case:
    """The case of a thing."""

    reports: dict[int, str] = field(default_factory=dict)
    outcome: str = ""
    assignee: int | None = None
    closed_by: int | None = None

    def close(self, outcome: str, actor: int | None) -> bool:
        """Close the open reports; return False if there is none."""
        if not self.reports:
            return False
        self.reports, self.outcome, self.closed_by = {}, outcome, actor
        return True

    @property
    def reasons(self) -> Counter[str]:
        """How often each reason was given."""
        return Counter(self.reports.values())


@dataclass
class Act:
    """An act on a person, and the appeal against it."""

    kind: str
    user: int
    actor: int
    thing: Thing | None = None
    reason: str = ""
    stands: bool = True
    undone_by: int | None = None
    appeal: str = ""
    decided_by: int | None = None
    # The author deleted the comment too: an undo does not bring it back.
    is_final: bool = field(default=False, compare=False)


@dataclass
class Facts:
    """Everything that the site should say after some acts."""

    cases: dict[Thing, Case] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    audit: list[tuple[int, str, Thing]] = field(default_factory=list)
    # People by what staff did to them; a person may be in each.
    limit: set[int] = field(default_factory=set)
    suspend: set[int] = field(default_factory=set)
    ban: set[int] = field(default_factory=set)
    deleted: set[Thing] = field(default_factory=set)  # by their authors
    removed: set[Thing] = field(default_factory=set)  # by staff
    private: set[int] = field(default_factory=set)  # posts that only their authors see
    # Things that are gone, and people who are banned, of which no event was delivered yet.
    waiting: list[Thing] = field(default_factory=list)

    # --- who sees what --------------------------------------------------------------------------
    def is_gone(self, thing: Thing) -> bool:
        """Return whether somebody deleted it."""
        return thing in self.deleted or thing in self.removed

    def sees_post(self, viewer: int, n: int) -> bool:
        """Return whether a person sees a post."""
        author = POSTS[n]
        hidden = self.is_gone(("post", n)) or author in self.ban
        return not hidden and (n not in self.private or viewer == author)

    def sees_comment(self, viewer: int, n: int) -> bool:
        """Return whether a person sees the text of a comment."""
        return not self.is_gone(("comment", n)) and self.sees_place(viewer, n)

    def sees_place(self, viewer: int, n: int) -> bool:
        """Return whether a person sees a comment, or where it was: below it is an answer."""
        author, post, parent = COMMENTS[n]
        if author in self.ban or not self.sees_post(viewer, post):
            return False
        if parent is not None and COMMENTS[parent][0] in self.ban:
            return False
        answers = [m for m, (who, _, to) in enumerate(COMMENTS) if to == n and who not in self.ban]
        there = [m for m in answers if not self.is_gone(("comment", m))]
        return not self.is_gone(("comment", n)) or bool(there)

    def posts_of(self, author: int) -> int:
        """Return the number on the author's profile."""
        own = [n for n, who in enumerate(POSTS) if who == author and n not in self.private]
        return len([n for n in own if not self.is_gone(("post", n))])

    @staticmethod
    def owner(thing: Thing) -> int:
        """Return the author, or the person."""
        kind, n = thing
        return {"post": POSTS, "comment": [row[0] for row in COMMENTS], "user": PEOPLE}[kind][n]

    # --- people ---------------------------------------------------------------------------------
    def is_away(self, person: int) -> bool:
        """Return whether a person cannot log in."""
        return person in self.ban or person in self.suspend

    def report(self, user: int, thing: Thing, reason: str) -> bool:
        """Report something that one sees and that is not one's own; return False if one did."""
        kind, n = thing
        if kind == "post" and not self.sees_post(user, n):
            raise NotFound
        if kind == "comment" and not self.sees_comment(user, n):
            raise NotFound
        if kind == "user" and n in self.ban:
            raise UserNotFound
        if self.owner(thing) == user:
            raise Forbidden
        case = self.cases.setdefault(thing, Case())
        if not case.reports:
            case.assignee = None
        if user in case.reports:
            return False
        case.reports[user] = reason
        case.outcome, case.closed_by = "", None
        return True

    def edit(self, user: int, thing: Thing, *, narrow: bool) -> None:
        """Edit a text; a post may then be for its author alone."""
        kind, n = thing
        seen = self.sees_post(user, n) if kind == "post" else self.sees_place(user, n)
        if not seen:
            raise NotFound
        if self.owner(thing) != user or thing == ("post", REPOST):
            raise Forbidden
        if kind == "comment" and self.is_gone(thing):
            raise NotFound
        if kind == "post" and narrow:
            self.private.add(n)

    def delete(self, user: int, thing: Thing, reason: str = "") -> None:
        """Delete a post or a comment, one's own or as staff."""
        is_post, n = thing[0] == "post", thing[1]
        own = self.owner(thing) == user
        if is_post and thing in self.deleted and not own:
            raise NotFound
        if not is_post:
            post = COMMENTS[n][1]
            own = own or (POSTS[post] == user and self.sees_post(user, post))
        if not own and not self.is_staff(user):
            seen = self.sees_post(user, n) if is_post else self.sees_place(user, n)
            raise Forbidden if seen else NotFound
        if own and not is_post and thing in self.removed:
            for act in self.acts:
                act.is_final = act.is_final or (act.thing == thing and act.stands)
        if own and (not self.is_gone(thing) or (is_post and thing not in self.deleted)):
            self.deleted.add(thing)
            self.waiting.append(thing)
        elif not own and not self.is_gone(thing):
            self.removed.add(thing)
            self.waiting.append(thing)
            self.acts.append(Act(f"delete_{thing[0]}", self.owner(thing), user, thing, reason))
            self.audit.append((user, f"delete_{thing[0]}", thing))

    def appeal(self, user: int, act: Act) -> None:
        """Object to an act."""
        if act.user != user:
            raise NotFound
        if not act.stands or act.appeal:
            raise AlreadyAppealed
        act.appeal = "open"

    # --- staff ----------------------------------------------------------------------------------
    def is_staff(self, person: int) -> bool:
        """Return whether a person is of staff and may act."""
        return person in STAFF and person not in self.ban

    def check_staff(self, actor: int) -> None:
        """Raise Forbidden for others."""
        if not self.is_staff(actor):
            raise Forbidden

    def check_over(self, actor: int, person: int) -> None:
        """Raise Forbidden for an act on oneself, and for one on staff unless by an admin."""
        if actor == person or not self.is_staff(actor) or (person in STAFF and actor != ADMIN):
            raise Forbidden

    def decide(self, actor: int, kind: str, person: int, reason: str = "") -> bool:
        """Warn, limit, suspend or ban a person; return False if that was done already."""
        self.check_over(actor, person)
        if kind in ("limit", "ban") and person in getattr(self, kind):
            return False
        if kind != "warn":
            getattr(self, kind).add(person)
        if kind == "ban":
            self.waiting.append(("user", person))
        made = Act(kind, person, actor, None, reason)
        if kind == "suspend":
            self.replace(made)
        self.acts.append(made)
        self.audit.append((actor, kind, ("user", person)))
        return True

    def lift(self, actor: int, kind: str, person: int) -> None:
        """End a limit, a suspension or a ban."""
        self.check_over(actor, person)
        people: set[int] = getattr(self, kind)
        if person in people:
            people.remove(person)
            self.end(kind, person, actor)
            self.audit.append((actor, LIFTED[kind], ("user", person)))

    def replace(self, made: Act) -> None:
        """End the suspension before a new one, which takes over the open appeal against it."""
        for act in self.acts:
            if (act.kind, act.user, act.stands) == (made.kind, made.user, True):
                act.stands, act.undone_by = False, made.actor
                if act.appeal == "open":
                    act.appeal, made.appeal = "", "open"

    def end(self, kind: str, person: int, actor: int) -> None:
        """Undo the standing acts of a kind, which grants the appeals against them."""
        for act in self.acts:
            if (act.kind, act.user, act.stands) == (kind, person, True):
                self.end_one(act, actor)

    @staticmethod
    def end_one(act: Act, actor: int) -> None:
        """Undo an act in the records."""
        act.stands, act.undone_by = False, actor
        if act.appeal == "open":
            act.appeal, act.decided_by = "granted", actor

    def undo(self, actor: int, act: Act) -> bool:
        """Undo an act; return False if it was undone before."""
        self.check_over(actor, act.user)
        if not act.stands:
            return False
        if act.kind in LIFTED:
            self.lift(actor, act.kind, act.user)
            return True
        if act.thing is not None:
            self.removed.discard(act.thing)
            if act.is_final:
                self.deleted.add(act.thing)
        self.end_one(act, actor)
        self.audit.append((actor, "undo", ("user", act.user)))
        return True

    def answer(self, actor: int, act: Act, *, grant: bool) -> None:
        """Grant or refuse an appeal, as somebody else than who acted."""
        if act.appeal != "open":
            raise NotFound
        if act.actor == actor:
            raise Forbidden
        self.check_over(actor, act.user)
        if grant:
            self.undo(actor, act)
            return
        act.appeal, act.decided_by = "refused", actor
        self.audit.append((actor, "refuse_appeal", ("user", act.user)))

    # --- cases ----------------------------------------------------------------------------------
    def take(self, actor: int, thing: Thing, *, over: bool) -> bool:
        """Take a case."""
        self.check_staff(actor)
        case = self.cases[thing]
        free = case.assignee is None or (over and case.assignee != actor)
        if not case.reports or not free:
            return False
        case.assignee = actor
        return True

    def give_back(self, actor: int, thing: Thing) -> bool:
        """Give one's case back."""
        self.check_staff(actor)
        case = self.cases[thing]
        if not case.reports or case.assignee != actor:
            return False
        case.assignee = None
        return True

    def dismiss(self, actor: int, thing: Thing) -> bool:
        """Dismiss the reports of a case."""
        self.check_staff(actor)
        if not self.cases[thing].close("dismissed", actor):
            return False
        self.audit.append((actor, "dismiss_reports", thing))
        return True

    def delete_reported(self, actor: int, thing: Thing) -> bool:
        """Delete the object of a case; return False if it is gone already."""
        self.check_staff(actor)
        if thing[0] == "user":
            raise Forbidden
        was_gone = self.is_gone(thing)
        case = self.cases[thing]
        if not was_gone:
            given = case.reasons
            self.delete(actor, thing, max(given, key=given.__getitem__, default=""))
        case.close(self.outcome_of(thing) if was_gone else "deleted", actor)
        return not was_gone

    def decide_case(self, actor: int, kind: str, thing: Thing) -> bool:
        """Warn, limit, suspend or ban the person of a case, which ends it if it is open."""
        owner, case = self.owner(thing), self.cases[thing]
        if kind == "ban":
            done = self.decide(actor, kind, owner)
            self.close_all(owner, actor)
            return done
        if kind != "suspend":
            self.check_over(actor, owner)
        if not case.reports:
            raise NotFound
        self.decide(actor, kind, owner)
        case.close({"warn": "warned", "limit": "limited", "suspend": "suspended"}[kind], actor)
        return True

    def close_all(self, person: int, actor: int | None) -> None:
        """Close all cases of a banned person."""
        for thing, case in self.cases.items():
            if self.owner(thing) == person:
                case.close("banned", actor)

    def outcome_of(self, thing: Thing) -> str:
        """Return the outcome of a case whose object is gone."""
        return "deleted" if thing in self.removed else "gone"

    def deliver(self) -> None:
        """Close the cases of what is gone now, and of people who are banned now."""
        waiting, self.waiting = self.waiting, []
        for thing in waiting:
            if thing[0] == "user":
                if thing[1] in self.ban:
                    self.close_all(thing[1], None)
            elif thing in self.cases and self.is_gone(thing):
                self.cases[thing].close(self.outcome_of(thing), None)
