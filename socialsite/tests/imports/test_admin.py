"""The admin of archives and imports: admins see how far a job is, and none of its data."""

from typing import Any

import pytest

from accounts import actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of, text_of
from socialsite.core.models import Export, Import

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", [Role.ADMIN, Role.MODERATOR])
def test_admins_see_jobs_without_their_data(make_user: Any, role: Role) -> None:
    owner, staff = make_user("owner1"), make_user("staff1")
    actions.promote(staff, Role.MEMBER | role)
    times = {"owner_id": owner.pk, "due_at": 0, "created_at": 1_600_000_000_000}
    preview = {"rows": 7, "first": [{"name": "secret words", "error": ""}]}
    brought = Import.objects.create(kind="posts", preview=preview, made=3, name="file", **times)
    taken = Export.objects.create(name="file", **times)
    browser = browser_of(User.objects.get(pk=staff.pk))
    for kind, row in (("import", brought), ("export", taken)):
        pages = [
            browser.get(f"/admin/core/{kind}/?q={owner.pk}"),
            browser.get(f"/admin/core/{kind}/{row.pk}/change/"),
        ]
        if role != Role.ADMIN:
            assert [page.status_code for page in pages] == [403, 403]
            continue
        for page in pages:
            assert page.status_code == 200
            assert str(owner.pk) in text_of(page)
            assert "secret words" not in page.content.decode()
