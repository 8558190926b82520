"""Admin of roles: those of a person, and the roles that the site makes itself."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import actions
from accounts.models import Role, StaffRole, User, rights_of
from accounts.request_auth.requests import staff_of
from socialsite.core import rights
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.errors import Forbidden, InvalidInput, NotFound
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import Right

NAMES: dict[int, Promise] = {
    Role.MODERATOR: gettext_lazy("Moderator"),
    Role.ADMIN: gettext_lazy("Admin"),
}


def titles(roles: int) -> list[str]:
    """Return the names of the bits in `User.roles`, as pages show them."""
    own = [bit for bit in StaffRole.BITS if roles & bit]
    found = StaffRole.objects.filter(pk__in=own).values_list("name", flat=True) if own else ()
    return [str(name) for bit, name in NAMES.items() if roles & bit] + sorted(found)


def _in_words(given: int) -> str:
    """Return the rights as a list of sentences."""
    return "; ".join(str(right.label) for right in Right if given & right)


class RolesForm(forms.Form):
    """A checkbox for each role; those that the viewer may not give are disabled."""

    def __init__(self, user: User, viewer: User, *args: Any, **kwargs: Any) -> None:
        """Make a field for each role."""
        super().__init__(*args, **kwargs)
        self.bits = {}
        for bit, title, text in _choices():
            name = Role(bit).label if bit in NAMES else f"role_{bit}"
            self.bits[name] = bit
            self.fields[name] = forms.BooleanField(
                required=False,
                label=title,
                help_text=text,
                initial=bool(user.roles & bit),
                disabled=not _may_give(viewer, bit),
            )

    @property
    def roles(self) -> int:
        """The chosen roles as bits; everybody is a member."""
        chosen = [self.bits[name] for name, given in self.cleaned_data.items() if given]
        return int(Role.MEMBER) | sum(chosen)


def _choices() -> list[tuple[int, Any, Any]]:
    """Return bit, name and description of each role that can be given."""
    own = StaffRole.objects.order_by("name_key").values_list("bit", "name", "rights")
    return [
        (Role.MODERATOR, NAMES[Role.MODERATOR], _in_words(rights.MODERATOR)),
        *((bit, name, _in_words(given)) for bit, name, given in own),
        (Role.ADMIN, NAMES[Role.ADMIN], _("All of these, also towards other staff")),
    ]


def _may_give(viewer: User, bit: int) -> bool:
    return viewer.is_superuser or (bit != Role.ADMIN and viewer.may(rights_of(bit)))


def may_change(viewer: User, user: User) -> bool:
    """Return whether the roles of a person can be changed by a viewer."""
    if user.pk == viewer.pk or not viewer.may(Right.ROLES):
        return False
    return viewer.is_superuser or (
        not user.roles & Role.ADMIN and viewer.may(rights_of(user.roles))
    )


def roles_page(site: admin.AdminSite, request: HttpRequest, user_id: int) -> HttpResponse:
    """Change the roles of somebody else."""
    viewer, user = staff_of(request), User.objects.filter(pk=user_id).first()
    if not viewer.may(Right.ROLES):
        raise PermissionDenied
    if user is None:
        raise Http404
    form = RolesForm(user, viewer, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            actions.promote(user, form.roles, viewer, address_of(request))
            messages.success(request, _("The roles are changed."))
        except (Forbidden, NotFound) as error:
            messages.warning(request, str(error.detail))
        return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))
    context = {
        **site.each_context(request),
        "title": _("Roles of %(name)s") % {"name": user},
        "opts": User._meta,
        "person": user,
        "form": form,
    }
    return TemplateResponse(request, "admin/accounts/roles.html", context)


class StaffRoleForm(forms.ModelForm):
    """A role: its name and its rights, of those that the viewer has."""

    viewer: User

    chosen = forms.TypedMultipleChoiceField(
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Rights"),
    )

    class Meta:
        model = StaffRole
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the rights, and choose those that the role has."""
        super().__init__(*args, **kwargs)
        offered = [(right.value, right.label) for right in Right if self.viewer.may(right)]
        self.fields["chosen"].choices = offered  # type: ignore[attr-defined]
        given = self.instance.rights or 0
        self.initial["chosen"] = [right.value for right in Right if given & right]

    def clean(self) -> dict[str, Any]:
        """Show what is wrong beside the fields."""
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        try:
            actions.check_role(values["name"], sum(values["chosen"]), self.instance.pk)
        except InvalidInput as error:
            for name, texts in (error.fields or {"": [error.detail]}).items():
                field = {"rights": "chosen"}.get(name, name) or None
                self.add_error(field, [str(text) for text in texts])
        return values


@admin.register(StaffRole)
class StaffRoleAdmin(ReadOnlyAdmin):
    """The roles that the site made itself."""

    form = StaffRoleForm
    list_display = ("name", "given", "people")
    ordering = ("name_key",)
    fields = ("name", "chosen")
    shown_to = Right.ROLES

    @admin.display(description=gettext_lazy("rights"))
    def given(self, role: StaffRole) -> str:
        """Return the rights in words."""
        return _in_words(role.rights)

    @admin.display(description=gettext_lazy("people"))
    def people(self, role: StaffRole) -> str:
        """Return who has the role."""
        return ", ".join(str(user) for user in actions.people_with(role.bit)) or "-"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return True with the right to roles."""
        return staff_of(request).may(Right.ROLES)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for a role that gives no more than the viewer has."""
        return staff_of(request).may(Right.ROLES | (obj.rights if obj else 0))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True as above; roles are deleted one by one."""
        return obj is not None and self.has_change_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what is shown of a role that the viewer may not change."""
        return self.fields if self.has_change_permission(request, obj) else ("name", "given")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the rights in words, which are no field of the form."""
        return () if self.has_change_permission(request, obj) else ("name", "given")

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form for this viewer."""
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"viewer": staff_of(request)})

    def save_model(self, request: HttpRequest, obj: StaffRole, form: Any, change: bool) -> None:
        """Store the role, and record who did."""
        values = form.cleaned_data
        chosen, bit = sum(values["chosen"]), obj.pk if change else None
        made = actions.save_role(
            values["name"], chosen, staff_of(request), address_of(request), bit
        )
        obj.pk, obj.rights = made.pk, made.rights

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete a role, or say who has it."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except InvalidInput as error:
            messages.warning(request, str(error.detail))
            page = reverse("admin:accounts_staffrole_change", args=[object_id])
            return HttpResponseRedirect(page)

    def delete_model(self, request: HttpRequest, obj: StaffRole) -> None:
        """Delete the role, and record who did."""
        actions.delete_role(obj.pk, staff_of(request), address_of(request))
