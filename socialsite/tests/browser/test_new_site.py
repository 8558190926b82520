"""A new site, from nothing to the first post of the first invited member."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.services.site_processes import PROJECT_DIR, environment, python
from socialsite.tests import stacks
from socialsite.tests.browser.composing import composer
from socialsite.tests.support import admin_forms
from socialsite.tests.support.newcomers import PASSWORD, at_home, watched

pytestmark = pytest.mark.e2e


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[str]:
    """The address of a site that has an admin and nothing else."""
    stacks.put_database(tmp_path)
    subprocess.run(
        python("manage.py", "createsuperuser", "--username", "founder", "--nickname", "Founder"),
        cwd=PROJECT_DIR,
        env={**environment(), "DATA_DIR": str(tmp_path)},
        input=PASSWORD.encode(),
        check=True,
    )
    with stacks.embedded(tmp_path) as url:
        yield url


def sign_up(page: Page, username: str, name: str) -> None:
    page.get_by_label("Username").fill(username)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_test_id("register").click()


def test_from_nothing_to_the_first_invited_member(new_site: str, browser: Browser) -> None:
    admin = watched(browser.new_context(base_url=new_site, locale="en"))
    admin.goto("/admin/")
    admin.get_by_label("Username").fill("founder")
    admin.get_by_label("Password", exact=True).fill(PASSWORD)
    admin.get_by_test_id("login").click()

    # The site gets a name, rules, terms, and a door.
    admin.goto("/admin/core/sitesettings/")
    admin.get_by_label("Name").fill("Harbour Gardens")
    admin.get_by_label("Description in English").fill("Neighbours around the old harbour.")
    admin.get_by_role("combobox", name="Sign-up").select_option("invite")
    admin_forms.save(admin, "changed")
    for kind, text in {"rules": "## Be kind\n\nTo everybody.", "terms": "## Be fair"}.items():
        admin.goto(f"/admin/core/sitedocument/add/?kind={kind}")
        admin.get_by_label("Text in English").fill(text)
        admin_forms.save(admin)
    admin.goto("/")
    admin.get_by_role("button", name="I accept the terms").click()
    at_home(admin)
    composer(admin).fill("The gate is open.")
    admin.get_by_test_id("publish").click()
    expect(admin.get_by_test_id("post")).to_have_count(1)

    # A guest sees what the site is, and that it needs an invitation.
    guest = watched(browser.new_context(base_url=new_site, locale="en"))
    guest.goto("/")
    expect(guest.get_by_text("Neighbours around the old harbour.").first).to_be_visible()
    guest.goto("/rules")
    expect(guest.get_by_role("heading", name="Be kind")).to_be_visible()
    guest.goto("/register")
    expect(guest.get_by_role("heading", name="Sign-up by invitation")).to_be_visible()

    # The admin sends a link, and the guest comes in by it.
    admin.goto("/settings/devices")
    admin.get_by_role("link", name="Invitations").click()
    admin.get_by_label("For how many people").fill("1")
    admin.get_by_role("button", name="Make a link").click()
    guest.goto(admin.get_by_label("Link of the invitation").input_value())
    expect(guest.get_by_text("Founder invites you to")).to_be_visible()
    guest.get_by_label("I accept the terms").check()
    sign_up(guest, "firstmember", "Member")
    guest.wait_for_url("**/welcome*")
    expect(guest).to_have_title("Welcome · Harbour Gardens")

    # The member follows who invited, reads, and writes; the admin sees who came.
    guest.goto("/@founder")
    guest.get_by_test_id("follow").click()
    expect(guest.get_by_test_id("follow")).to_have_attribute("aria-pressed", "true")
    guest.goto("/")
    expect(guest.get_by_test_id("post")).to_contain_text("The gate is open.")
    composer(guest).fill("Thank you for the key.")
    guest.get_by_test_id("publish").click()
    expect(guest.get_by_test_id("post").first).to_contain_text("Thank you for the key.")
    admin.goto("/@firstmember")
    expect(admin.get_by_test_id("post")).to_contain_text("Thank you for the key.")
    admin.goto("/settings/invites")
    expect(admin.get_by_text("1 of 1 uses taken")).to_be_visible()
