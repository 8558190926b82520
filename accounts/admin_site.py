"""The admin of the site: let in are staff, by the site's own sign-in, as the database says now."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from accounts import second_factor
from accounts.budgeting import takes
from socialsite.core import budgets

View = TypeVar("View", bound=Callable[..., Any])


class SiteAdmin(AdminSite):
    """Whoever may not see a page is sent to `accounts.views.admin.login`, which knows why."""

    def has_permission(self, request: HttpRequest) -> bool:
        """True for staff, with the second factor where the site asks for it (STAFF_TOTP)."""
        return super().has_permission(request) and not second_factor.is_missing(request.user)  # type: ignore[arg-type]

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap a page of the admin: forms that staff send take from a budget."""
        rows = (budgets.STAFF,)
        limited = takes(POST=rows, PUT=rows, PATCH=rows, DELETE=rows)(view)
        return super().admin_view(cast("View", limited), cacheable)
