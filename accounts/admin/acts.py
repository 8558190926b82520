"""Acts of staff on selected rows, after a confirmation on a page of its own."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.errors import DuplicatedUser, Forbidden, NotFound

SHOWN = 100  # rows on a confirmation page


class ActsAdmin(ReadOnlyAdmin):
    """Admin whose acts run one by one, each in its own transaction, once they are confirmed.

    An act that the actor may not do is refused, and so is one that is too late. An act that returns
    False had nothing to do.
    """

    def described(self, rows: Sequence[Any]) -> list[str]:
        """Return a line about each of these rows for the confirmation; here those of people."""
        return [f"{row} ({row.nickname})" for row in rows]

    def act(
        self,
        request: HttpRequest,
        rows: "QuerySet[Any]",
        act: Callable[[Any], Any],
        question: str,
        text_label: str = "",
    ) -> HttpResponse | None:
        """Ask for confirmation; once confirmed, act on each row and report the results.

        With `text_label` the page of the confirmation asks for a `text`.
        """
        if "confirmed" not in request.POST:
            return self._confirm(request, rows, question, text_label)
        return self.run(request, rows, act)

    def run(
        self, request: HttpRequest, rows: "QuerySet[Any]", act: Callable[[Any], Any]
    ) -> HttpResponse:
        """Act on each row without a confirmation, and report the results."""
        done = refused = late = 0
        for row in rows:
            try:
                done += act(row) is not False
            except Forbidden:
                refused += 1
            except (NotFound, DuplicatedUser):
                late += 1
        if done:
            self.message_user(request, _("Done for %(count)s.") % {"count": done}, messages.SUCCESS)
        if refused:
            text = _("You may not do this to %(count)s.") % {"count": refused}
            self.message_user(request, text, messages.WARNING)
        if late:
            text = _("It was too late for %(count)s: decided already, or the name is taken.")
            self.message_user(request, text % {"count": late}, messages.WARNING)
        if not done and not refused and not late:
            self.message_user(request, _("There was nothing to do."), messages.INFO)
        return HttpResponseRedirect(self._back(request))

    def _confirm(
        self, request: HttpRequest, rows: "QuerySet[Any]", question: str, text_label: str
    ) -> TemplateResponse:
        chosen = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        found = list(rows.order_by("-pk")[: SHOWN + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": _("Are you sure?"),
            "opts": self.opts,
            "question": question,
            "text_label": text_label,
            "lines": self.described(found[:SHOWN]),
            "more": rows.count() - SHOWN if len(found) > SHOWN else 0,
            "checkbox": helpers.ACTION_CHECKBOX_NAME,
            "chosen": chosen,
            "action": request.POST.get("action", ""),
            "select_across": request.POST.get("select_across", "0"),
            "back": _row_of(request),
            "back_url": self._back(request),
        }
        return TemplateResponse(request, "admin/accounts/confirm.html", context)

    def _back(self, request: HttpRequest) -> str:
        """Return the page that the act was started from: that of a row, or the list."""
        row, page = _row_of(request), f"admin:{self.opts.app_label}_{self.opts.model_name}"
        if not row:
            return request.get_full_path()  # with its filters
        return reverse(f"{page}_change", args=[row])


def _row_of(request: HttpRequest) -> str:
    """Return the id of the row whose page started the act; empty for the list."""
    back = request.POST.get("back", "")
    return back if back.isascii() and back.isdigit() else ""
