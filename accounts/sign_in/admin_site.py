"""The admin site: admits staff by the site's own sign-in, with their current rights."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from accounts.credentials import two_factor
from socialsite.core import site
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes

View = TypeVar("View", bound=Callable[..., Any])


class SiteAdmin(AdminSite):
    """Sends visitors without access to `accounts.views.admin.login`, which explains why."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Return True for staff, with the second factor if the site requires it (STAFF_TOTP)."""
        return super().has_permission(request) and not two_factor.is_missing(request.user)  # type: ignore[arg-type]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Say the name of the site and its colour."""
        here = site.current()
        own = {"site_header": here.name, "site_accent": here.accent[1:]}
        return super().each_context(request) | own

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Wrap an admin page: forms that staff submit are rate limited."""
        rows = (budgets.STAFF,)
        limited = takes(POST=rows, PUT=rows, PATCH=rows, DELETE=rows)(view)
        return super().admin_view(cast("View", limited), cacheable)
