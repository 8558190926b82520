"""Admin of feeds: posts are deleted through the action, the rest is read-only.

A page of its own explains why a post is in a person's home feed, or why not.
"""

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts import actions as accounts_actions
from accounts.admin.acts import ActsAdmin
from accounts.admin.staff_acts import GroundsForm
from accounts.models import User
from accounts.request_auth.requests import staff_of
from feeds import actions
from feeds.audit.explain import explain, find_id, find_reader
from feeds.delivery.fanout import progress
from feeds.delivery.inbox import rebuild
from feeds.discovery.tags import actions as tag_actions
from feeds.models import (
    Draft,
    FanOut,
    FanOutChunk,
    Post,
    PostContent,
    PostVersion,
    RecommendedAuthor,
    Tag,
)
from socialsite.core.admin import GuardedAdmin, ReadOnlyAdmin, id_column
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import READING, Right
from socialsite.core.times import iso

CHUNKS_SHOWN = 500


class ExplainForm(forms.Form):
    """Form for the reader and the post to explain."""

    viewer = forms.CharField(
        max_length=40,
        label=gettext_lazy("Reader"),
        help_text=gettext_lazy("a username or an id"),
        widget=AdminTextInputWidget,
    )
    post = forms.CharField(
        max_length=40,
        label=gettext_lazy("Post"),
        help_text=gettext_lazy("an id"),
        widget=AdminTextInputWidget,
    )

    def clean_viewer(self) -> User:
        """Return the reader."""
        found = find_reader(self.cleaned_data["viewer"])
        if found is None:
            raise ValidationError(_("There is no user with this name or id."))
        return found

    def clean_post(self) -> int:
        """Return the post's id."""
        found = find_id(self.cleaned_data["post"])
        if found is None:
            raise ValidationError(_("This is not the id of a post."))
        return found


class NoteForm(GroundsForm):
    """Grounds, and the note that readers see above the folded text."""

    note = forms.CharField(
        max_length=PostContent.NOTE_MAX, label=gettext_lazy("content note for readers")
    )


@admin.register(Post)
class PostAdmin(ActsAdmin):
    """Posts; deleting one calls `actions.delete`."""

    change_list_template = "admin/feeds/posts.html"
    change_form_template = "admin/feeds/post.html"

    list_display = ("id", "author", "kind", "visibility", "mode", "is_deleted", "is_removed")
    list_filter = ("kind", "visibility", "mode", "is_deleted", "is_removed")
    list_select_related = ("author",)
    search_fields = ("=id", "=author__username_key")
    actions = ("delete_posts", "note")

    def described(self, rows: Sequence[Post]) -> list[str]:
        """Return the posts with their authors."""
        return [f"{post}, {post.author}" for post in rows]

    @admin.action(description=gettext_lazy("Delete the selected posts"), permissions=["content"])
    def delete_posts(self, request: HttpRequest, queryset: "QuerySet[Post]") -> HttpResponse | None:
        """Delete as staff."""
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, GroundsForm)
        return self.act(
            request,
            queryset.filter(is_deleted=False, is_removed=False).select_related("author"),
            lambda post: actions.delete(actor, post.pk, address, **form.arguments),
            _("Delete these posts? Their authors read the reason."),
            form,
        )

    @admin.action(
        description=gettext_lazy("Put a content note on the selected posts"),
        permissions=["content"],
    )
    def note(self, request: HttpRequest, queryset: "QuerySet[Post]") -> HttpResponse | None:
        """Put a note above posts as staff."""
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, NoteForm)
        return self.act(
            request,
            queryset.filter(is_deleted=False, is_removed=False).select_related("author"),
            lambda post: actions.put_note(actor, post.pk, address=address, **form.arguments),
            _("Put a content note on these posts? Readers see it first; pictures blur."),
            form,
        )

    # --- why a post is in a feed ----------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Add the explanation page and the address of its button."""
        view = self.admin_site.admin_view
        return [
            path("explain/", view(self.explain_view), name="feeds_explain"),
            path(
                "rebuild/<int:user_id>/",
                view(require_POST(self.rebuild_view)),
                name="feeds_rebuild",
            ),
            *super().get_urls(),
        ]

    def explain_view(self, request: HttpRequest) -> HttpResponse:
        """Explain why a post is in a person's home feed, or why not; changes nothing."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        asked = {name: request.GET.get(name, "") for name in ("viewer", "post")}
        form = ExplainForm(asked if all(asked.values()) else None, initial=asked)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Why a post is in a home feed"),
            "opts": self.opts,
            "form": form,
            "may_rebuild": self.has_operation_permission(request),
        }
        if form.is_valid():
            reader = form.cleaned_data["viewer"]
            found = explain(reader.pk, form.cleaned_data["post"])
            context |= {"reader": reader, "explanation": found}
        return TemplateResponse(request, "admin/feeds/explain.html", context)

    def rebuild_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """Rebuild a person's inbox and redirect back."""
        if not self.has_operation_permission(request):
            raise PermissionDenied
        if not User.objects.filter(pk=user_id).exists():
            raise Http404
        done = rebuild.rebuild_as(staff_of(request), user_id, address_of(request))
        text = _("The inbox was rebuilt; follows synced: %(synced)s, wrong rows: %(removed)s.")
        figures = {"synced": done.synced, "removed": done.removed}
        self.message_user(request, text % figures, messages.SUCCESS)
        back = {"viewer": user_id, "post": request.POST.get("post", "")}
        return HttpResponseRedirect(f"{reverse('admin:feeds_explain')}?{urlencode(back)}")


@admin.register(PostVersion)
class PostVersionAdmin(ReadOnlyAdmin):
    """The words that posts had before they were edited."""

    of_post = id_column("post_id", gettext_lazy("post id"))
    list_display = ("id", "of_post", "author", "version", "edited")
    fields = readonly_fields = (
        *("of_post", "author", "version", "edited"),
        *("title", "note", "content"),
    )
    list_select_related = ("post__author",)
    search_fields = ("=post__id", "=post__author__username_key")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("author"))
    def author(self, row: PostVersion) -> str:
        """Return who wrote it."""
        return str(row.post.author)

    @admin.display(description=gettext_lazy("time"))
    def edited(self, row: PostVersion) -> str:
        """Return when it was written."""
        return iso(row.post.position if row.edited_at is None else row.edited_at)


class ChunksInline(admin.TabularInline):
    """The first chunks of a delivery; a separate list shows all of them."""

    model = FanOutChunk
    fields = readonly_fields = ("number", "lower", "upper", "delivered", "done", "uncached")
    extra, max_num, can_delete = 0, 0, False
    ordering = ("number",)
    verbose_name_plural = format_lazy(
        gettext_lazy("chunks (the first {count})"), count=CHUNKS_SHOWN
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[FanOutChunk]":
        """Limit the rows of one page."""
        return super().get_queryset(request).filter(number__lt=CHUNKS_SHOWN)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for everybody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for everybody."""
        return False


@admin.register(Draft)
class DraftAdmin(ReadOnlyAdmin):
    """Drafts without their words, which are their authors' own."""

    list_display = ("id", "written_by", "kind", "publish_time", "failed_time", "changed")
    fields = readonly_fields = list_display
    search_fields = ("=id", "=author__id")

    @admin.display(description=gettext_lazy("author"))
    def written_by(self, row: Draft) -> str:
        """Return the id of the author."""
        return str(row.author_id)

    @admin.display(description=gettext_lazy("publish time"))
    def publish_time(self, row: Draft) -> str:
        """Return the time of the publication in UTC, "" for none."""
        return iso(row.publish_at) if row.publish_at else ""

    @admin.display(description=gettext_lazy("failed"))
    def failed_time(self, row: Draft) -> str:
        """Return the time of a publication that did not succeed."""
        return iso(row.failed_at) if row.failed_at else ""

    @admin.display(description=gettext_lazy("last change"))
    def changed(self, row: Draft) -> str:
        """Return the time of the last change in UTC."""
        return iso(row.updated_at)


@admin.register(FanOut)
class FanOutAdmin(ReadOnlyAdmin):
    """Deliveries and their progress."""

    of_post = id_column("post_id", gettext_lazy("post id"))
    list_display = ("of_post", "author", "mode", "state", "chunks", "delivered", "leases", "age")
    list_filter = ("state", "mode")
    list_select_related = ("author",)
    search_fields = ("=post__id", "=author__username_key")
    ordering = ("state", "-post_id")
    inlines = (ChunksInline,)
    fields = readonly_fields = (
        "of_post",
        "author",
        "mode",
        "state",
        "chunks",
        "delivered",
        "leases",
        "age",
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[FanOut]":
        """Count the chunks in the same query."""
        return progress.with_progress(super().get_queryset(request))

    @admin.display(description=gettext_lazy("chunks done"))
    def chunks(self, row: Any) -> str:
        """Return the number of done chunks and of all chunks."""
        return f"{row.chunks_done}/{row.total}"

    @admin.display(description=gettext_lazy("rows delivered"))
    def delivered(self, row: Any) -> int:
        """Return the rows inserted by the chunks that are done."""
        return int(row.delivered)

    @admin.display(description=gettext_lazy("active / expired leases"))
    def leases(self, row: Any) -> str:
        """Return the number of leased chunks and of those with an expired lease."""
        return f"{row.held} / {row.expired}"

    @admin.display(description=gettext_lazy("duration"))
    def age(self, row: FanOut) -> str:
        """Return seconds; by this host's clock while the delivery is open."""
        return f"{progress.age_ms(row, time.time_ns() // 1_000_000) / 1000:.1f} s"


@admin.register(FanOutChunk)
class FanOutChunkAdmin(ReadOnlyAdmin):
    """Chunks of deliveries."""

    of_post = id_column("fanout_id", gettext_lazy("post id"))
    list_display = ("of_post", "number", "lower", "upper", "delivered", "done", "uncached")
    list_filter = ("done", "uncached")
    search_fields = ("=fanout__post__id",)


@admin.register(RecommendedAuthor)
class RecommendedAuthorAdmin(GuardedAdmin):
    """The authors whose posts the recommended feed shows."""

    list_display = ("author", "added_at")
    raw_id_fields = ("author",)
    shown_to = READING | Right.SITE

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a row can only be added or removed."""
        return False

    def save_model(self, request: HttpRequest, obj: RecommendedAuthor, *args: Any) -> None:
        """Add an author, and record who did."""
        super().save_model(request, obj, *args)
        self._note(request, accounts_actions.Act.RECOMMEND, obj)

    def delete_model(self, request: HttpRequest, obj: RecommendedAuthor) -> None:
        """Remove an author, and record who did."""
        self._note(request, accounts_actions.Act.UNRECOMMEND, obj)
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(
        self, request: HttpRequest, queryset: "QuerySet[RecommendedAuthor]"
    ) -> None:
        """Remove one by one."""
        for row in queryset:
            self.delete_model(request, row)

    @staticmethod
    def _note(request: HttpRequest, act: str, row: RecommendedAuthor) -> None:
        accounts_actions.note(
            staff_of(request), act, "user", row.author_id, address=address_of(request)
        )


@admin.register(Tag)
class TagAdmin(ReadOnlyAdmin):
    """Tags; hiding one calls `feeds.discovery.tags.actions.set_hidden`."""

    shown_to = READING | Right.TAGS

    list_display = ("name", "is_hidden", "score")
    list_filter = ("is_hidden",)
    list_select_related = ("rank",)
    fields = readonly_fields = list_display
    search_fields = ("name",)
    ordering = ("-rank__score", "name")
    actions = ("hide", "show")

    @admin.display(description=gettext_lazy("rank"))
    def score(self, row: Tag) -> str:
        """Return the score of the last ranking, "" if the tag is not in use."""
        return f"{row.rank.score:.1f}" if hasattr(row, "rank") else ""

    @admin.action(
        description=gettext_lazy("Hide the selected tags from everybody"), permissions=["tags"]
    )
    def hide(self, request: HttpRequest, queryset: "QuerySet[Tag]") -> None:
        """Hide as staff."""
        self._set_hidden(request, queryset, hidden=True)

    @admin.action(description=gettext_lazy("Show the selected tags again"), permissions=["tags"])
    def show(self, request: HttpRequest, queryset: "QuerySet[Tag]") -> None:
        """Show as staff."""
        self._set_hidden(request, queryset, hidden=False)

    @staticmethod
    def _set_hidden(request: HttpRequest, queryset: "QuerySet[Tag]", *, hidden: bool) -> None:
        staff, address = staff_of(request), address_of(request)
        for ident in queryset.values_list("pk", flat=True):
            tag_actions.set_hidden(staff, ident, address, hidden=hidden)
