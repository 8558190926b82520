"""Choices of what a reader sees without asking: of an account, or of the browser of a guest.

Posts with a content note are folded, and sensitive pictures are blurred, unless the cookie says
otherwise. Pages read the cookie alone; at each log-in and each exchange of tokens the account
brings it up to date.
"""

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts import actions, queries
from accounts.request_auth import cookies
from accounts.request_auth.requests import PageRequest, member
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.LANGUAGE,))
def reading(request: PageRequest) -> HttpResponse:
    """Show the choices; POST keeps them, those of a member with the account."""
    is_member = request.user.is_authenticated
    if request.method != "POST":
        own = cookies.reading(request)
        if is_member:
            own = cookies.with_account(own, queries.preferences(member(request).pk))
        return render(request, "content_preferences.html", {"chosen": own, "member": is_member})
    wanted = [name for name in cookies.CHOICES if request.POST.get(name) == "1"]
    if is_member:
        fields = {field: name in wanted for name, field in cookies.CHOICES.items()}
        actions.set_preferences(member(request), **fields)
    answer = HttpResponseRedirect(request.path, status=303)
    cookies.put_reading(answer, wanted)
    return answer
