"""axe-core finds no accessibility problem on any page; the catalogue has every page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from socialsite.tests.browser import accessibility
from socialsite.tests.browser.catalogue import LOOKS, VIEWS, Catalogue, Look, demo_site

# Two looks with every width, theme and language: each page has one of them. `make gallery
# ARGS=--axe` tries all eight on all pages.
TRIED = ("desktop-light-en", "phone-dark-zh-Hans")
# Pages by other programs: Swagger UI and Django admin.
NOT_OURS = ("api", "admin", "admin-people")


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Catalogue]:
    with demo_site(tmp_path_factory.mktemp("demo"), 30, 60) as site:
        yield Catalogue(site, browser)


@pytest.mark.slow(reason="axe on each page")
@pytest.mark.e2e
@pytest.mark.timeout(400)
@pytest.mark.parametrize("look", [look for look in LOOKS if str(look) in TRIED], ids=str)
def test_no_page_has_an_accessibility_problem(catalogue: Catalogue, look: Look) -> None:
    found: list[str] = []
    ours = [view for view in VIEWS if view.name not in NOT_OURS]
    views = ours[TRIED.index(str(look)) :: len(TRIED)]
    for who in dict.fromkeys(view.by for view in views):
        page = catalogue.context(who, look).new_page()
        for view in (one for one in views if one.by == who):
            catalogue.open(page, view)
            found += [f"{view.name}: {problem}" for problem in accessibility.problems(page)]
        page.context.close()
    assert found == []


@pytest.mark.e2e
@pytest.mark.timeout(400)
def test_a_window_between_both_widths_has_none_either(catalogue: Catalogue) -> None:
    look = Look("desktop", "light", "en")
    for view in (one for one in VIEWS if one.name in ("home", "discover-guest")):
        with catalogue.page(view, look) as page:
            page.set_viewport_size({"width": 900, "height": 800})
            assert accessibility.problems(page) == [], view.name
