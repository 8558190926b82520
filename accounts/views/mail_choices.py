"""The page behind the link in a mail that ends mails of its kind."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts import actions
from accounts.mail import choices
from accounts.views import forms
from socialsite.core import errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes


# Programs of mail services send the POST of RFC 8058: without cookies, from anywhere.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def end(request: HttpRequest, token: str) -> HttpResponse:
    """Ask whether to end the mails, as programs open links too; POST ends them."""
    error, kind, is_done = None, None, request.method == "POST"
    try:
        kind = actions.end_mails(token) if is_done else choices.read(token)[1]
    except errors.WrongLink as wrong:
        error = wrong
    context = {
        "title": choices.TITLES[kind] if kind else "",
        "wrong": "" if error is None else error.detail,
        "is_done": is_done,
    }
    response = forms.page(request, "accounts/end_mails.html", context, error)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
