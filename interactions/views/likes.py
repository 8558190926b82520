"""The like button."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from interactions import actions
from interactions.models import SubjectType
from interactions.views._answers import back, member
from socialsite.core import api, errors


@require_POST
def post_like(request: HttpRequest, post_id: str) -> HttpResponse:
    """Like or unlike by the field `liked` = 1 or 0; htmx gets the button in its new state."""
    user = member(request)
    wanted = request.POST.get("liked")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"liked": [_("Must be 0 or 1.")]})
    ident = api.parse_id(post_id)
    act = actions.like if wanted == "1" else actions.unlike
    count = act(user, SubjectType.POST, ident)
    if request.htmx:
        post = {"id": str(ident), "like_count": count, "liked": wanted == "1"}
        return render(request, "interactions/_like.html", {"post": post})
    return back(request, reverse("post", args=[ident]), f"#like-{ident}")
