"""The admin of the site: let in are staff, by the site's own sign-in, as the database says now."""

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from accounts import second_factor


class SiteAdmin(AdminSite):
    """Whoever may not see a page is sent to `accounts.views.admin.login`, which knows why."""

    def has_permission(self, request: HttpRequest) -> bool:
        """True for staff (T10), with the second factor where the site asks for it (STAFF_TOTP)."""
        return super().has_permission(request) and not second_factor.is_missing(request.user)  # type: ignore[arg-type]
