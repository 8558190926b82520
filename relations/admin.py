"""Admin of relations, read-only; changes go through the actions.

Every search is by person, with an index. The rows of a pair mirror each other, so the rows of one
person are all of their relations.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from accounts import queries as accounts_queries
from relations.models import Relation, RelationCount, RelationLog, Relationship
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.ids import number_of
from socialsite.core.text.spans import without_at
from socialsite.core.times import iso

HISTORY = 100
NOBODY = -1


class ByPersonAdmin(ReadOnlyAdmin):
    """Finds rows by people: by a name or an id for each field of `people`, in that order."""

    people: tuple[str, ...] = ()
    search_help_text = gettext_lazy("a username or an id; the names of two people find their pair")

    def get_list_select_related(self, request: HttpRequest) -> tuple[str, ...]:
        """Join the people."""
        return self.people

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Show the search field; `get_search_results` does the search."""
        return self.people

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> "tuple[QuerySet[Any], bool]":
        """Filter by equal ids: a comparison of texts would scan the table."""
        words = search_term.split()
        if len(words) > len(self.people):
            return queryset.none(), False
        ids = zip(self.people, map(_id_of, words), strict=False)
        return queryset.filter(**{f"{field}_id": ident for field, ident in ids}), False


def _id_of(word: str) -> int:
    user = accounts_queries.any_by_name(without_at(word))
    if user is not None:
        return user.pk
    found = number_of(word)
    return NOBODY if found is None else found


@admin.register(Relationship)
class RelationshipAdmin(ByPersonAdmin):
    """Pairs, each with its history."""

    people = ("from_user", "to_user")
    list_display = ("id", "from_user", "relation", "to_user", "version")
    list_filter = ("relation",)
    ordering = ("-id",)
    fields = (
        "from_user",
        "relation",
        "to_user",
        "follows_since",
        "followed_since",
        "blocks_since",
        "version",
        "counted",
        "history",
    )

    @admin.display(description=gettext_lazy("follows since"))
    def follows_since(self, row: Relationship) -> str:
        """Return since when from_user follows to_user."""
        return _time(row.followed_at)

    @admin.display(description=gettext_lazy("is followed since"))
    def followed_since(self, row: Relationship) -> str:
        """Return since when to_user follows from_user."""
        return _time(row.fan_since)

    @admin.display(description=gettext_lazy("blocks since"))
    def blocks_since(self, row: Relationship) -> str:
        """Return since when from_user blocks to_user."""
        return _time(row.blocked_at)

    @admin.display(description=gettext_lazy("history of the pair, the latest first"))
    def history(self, row: Relationship) -> SafeString | str:
        """Return the transitions by both people, with the actor's relation before and after."""
        pair = Q(actor=row.from_user_id, target=row.to_user_id)
        mirrored = Q(actor=row.to_user_id, target=row.from_user_id)
        found = RelationLog.objects.filter(pair | mirrored).order_by("-version")
        lines = list(found[: HISTORY + 1])
        if not lines:
            return "-"
        names = {row.from_user_id: row.from_user, row.to_user_id: row.to_user}
        body = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} → {}</td></tr>",
            (
                (
                    line.version,
                    _time(line.at),
                    names[line.actor_id],
                    line.action,
                    names[line.target_id],
                    _state(line.before),
                    _state(line.after),
                )
                for line in lines[:HISTORY]
            ),
        )
        older = f"Only the latest {HISTORY} are shown." if len(lines) > HISTORY else ""
        return format_html("<table><tbody>{}</tbody></table>{}", body, older)


@admin.register(RelationLog)
class RelationLogAdmin(ByPersonAdmin):
    """Transitions, the latest first."""

    people = ("actor", "target")
    list_display = ("id", "time", "actor", "action", "target", "before", "after", "version")
    list_filter = ("action",)
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("at"))
    def time(self, line: RelationLog) -> str:
        """Return when it happened."""
        return _time(line.at)


@admin.register(RelationCount)
class RelationCountAdmin(ByPersonAdmin):
    """Counters of people."""

    people = ("user",)
    search_help_text = gettext_lazy("a username or an id")
    list_display = ("user", "following", "followers", "friends", "blocked")
    ordering = ("-user_id",)


def _time(ts_ms: int | None) -> str:
    return "-" if ts_ms is None else iso(ts_ms)


def _state(value: int | None) -> str:
    return "none" if value is None else Relation(value).name
