"""A short run of `make chaos ARGS=attack` at a site in one process, and tests of its checks."""

import re
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.campaign.course import Course, Plan
from chaos.campaign.fuzz.conformance import Conformance
from chaos.campaign.fuzz.schema import operations
from chaos.campaign.journal import Journal, compact, pattern
from chaos.campaign.matrix.routes import unlisted
from chaos.campaign.matrix.world import FILLED
from chaos.campaign.site.requests import Answer, Form, Json, Request
from chaos.campaign.site.sites import CONFIGURATIONS, running
from socialsite.tests.blocks.block_matrix import MATRIX, PAGES

# Building the matrix takes a minute; `test_block_matrix` walks its tables in one process.
SLICE = Plan(
    requests=200, seconds=600, clients=1, share=0.03, parts=("tokens", "malformed", "fuzz")
)
SITE = next(one for one in CONFIGURATIONS if one.title == "embedded device")
# Slow answers are the trial's to find, on an idle machine.
KINDS = ("5xx", "leak", "traceback", "document", "control")


def answer(status: int, body: str = "", seconds: float = 0.0, **headers: str) -> Answer:
    found = Message()
    for name, value in headers.items():
        found[name.replace("_", "-")] = value
    return Answer(status, found, body.encode(), seconds)


@pytest.fixture
def journal() -> Journal:
    """The journal of a site that was never started."""
    site: Any = SimpleNamespace(
        configuration=SimpleNamespace(title="none"),
        redis_is_dead=False,
        cpu_seconds=lambda: {1: 0.0},
        wait_until_calm=lambda: True,
    )
    return Journal(site, lambda text: None)


@pytest.mark.slow(reason="hundreds of hostile requests")
@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_a_slice_of_the_attack_finds_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    with running(SITE, tmp_path / "site", SLICE.staff()) as site:
        course = Course(site, Journal(site, said.append), SLICE)
        course.run()
    counts = course.journal.counts
    assert {kind: counts[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0), "\n".join(said)
    assert counts["accepted"] >= 0.3 * counts["writes"] > 0
    assert min(course.journal.parts[part] for part in SLICE.parts) > 10


@pytest.mark.once
def test_the_matrix_over_http_knows_every_address() -> None:
    assert unlisted() == []


@pytest.mark.once
def test_the_matrix_over_http_fills_every_address() -> None:
    calls = [call for table in (MATRIX, PAGES) for calls in table.values() for call in calls]
    texts = {text for call in calls for text in (call.path, *call.data.values(), *call.sees)}
    assert {name for text in texts for name in re.findall(r"{(\w+)}", text)} <= FILLED


@pytest.mark.once
def test_a_finding_is_made_small(journal: Journal) -> None:
    def again(request: Request) -> Answer:
        body = request.body
        bad = isinstance(body, Json) and "ab" in str(body.value.get("title"))
        return answer(500 if bad else 200)

    body = Json({"title": "ab" * 3000, "content": "x", "images": []})
    request = Request("POST", "/api/v1/posts", (("a", "b"),), {"HX-Request": "true"}, body)
    journal.judge("fuzz", request, again(request), again)
    found = journal.findings[0]
    assert found.kind == "5xx"
    assert found.request == 'POST  /api/v1/posts  as guest  JSON {"title": "ababa"}'
    journal.judge("fuzz", request, again(request), again)
    assert (journal.counts["5xx"], len(journal.findings)) == (2, 1)


@pytest.mark.once
def test_only_a_dead_service_excuses_an_unavailable_site(journal: Journal) -> None:
    request = Request("POST", "/api/v1/auth/ws-ticket")
    told, mute = answer(503, Retry_After="3"), answer(503)
    journal.judge("fuzz", request, told, lambda _: told)
    assert journal.counts["5xx"] == 1
    journal.site.redis_is_dead = True
    journal.judge("fuzz", request, told, lambda _: told)
    journal.judge("fuzz", request.replace(method="PUT"), mute, lambda _: mute)
    assert (journal.counts["5xx"], journal.counts["unavailable"]) == (2, 1)


@pytest.mark.once
def test_with_a_dead_redis_pages_without_redis_must_respond(journal: Journal) -> None:
    journal.site.redis_is_dead = True
    told = answer(503, Retry_After="3")
    for number, path in enumerate(("/api/v1/feed", "/login", "/api/v1/media"), 1):
        journal.judge("fuzz", Request("GET", path), told, lambda _: told)
        assert (journal.counts["5xx"], journal.counts["unavailable"]) == (number, 0)


@pytest.mark.once
def test_only_repeated_slowness_counts_and_a_busy_machine_does_not(journal: Journal) -> None:
    request = Request("GET", "/posts/12345")
    slow, quick = answer(200, seconds=30.0), answer(200, seconds=0.1)
    journal.judge_time("fuzz", request, slow, ({1: 0.0}, 0), lambda _: quick)
    assert (journal.counts["slow"], journal.counts["slow once"]) == (0, 1)
    journal.judge_time("fuzz", request, slow, ({1: 0.0}, 0), lambda _: slow)
    assert journal.counts["slow"] == 1
    # The CPU time of a process that did not exist before is unknown.
    journal.site.cpu_seconds = lambda: {2: 50.0}  # type: ignore[method-assign]
    journal.judge_time("fuzz", request, slow, ({1: 0.0}, 0), lambda _: quick)
    assert journal.counts["slow"] == 1
    # If a cache hides the cost the second time, the site's CPU time still shows it.
    journal.site.cpu_seconds = lambda: {1: 20.0, 2: 50.0}  # type: ignore[method-assign]
    journal.judge_time("fuzz", request, slow, ({1: 0.0}, 0), lambda _: quick)
    assert journal.counts["slow"] == 2


@pytest.mark.once
def test_a_response_that_the_document_does_not_describe_is_found() -> None:
    item = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}
    responses = {"200": {"content": content}, "204": {}}
    document = {
        "paths": {"/a": {"get": {"responses": responses}}},
        "components": {"schemas": {"Item": item, "Error": {"required": ["code"]}}},
    }
    compare, get = Conformance(document), operations(document)[0]
    json: dict[str, Any] = {"Content_Type": "application/json"}
    good = [answer(200, '{"id": "1"}', **json), answer(204), answer(404, '{"code": 1}', **json)]
    assert {compare.violation(get, one) for one in (*good, answer(414), answer(500))} == {""}
    assert compare.violation(get, answer(202)) == "202 is not documented"
    assert compare.violation(get, answer(204, "x")) == "a body of 204 is not documented"
    html = answer(200, "<p>", Content_Type="text/html")
    assert compare.violation(get, html) == "text/html of 200 is not documented"
    wrong = answer(200, '{"id": 1}', **json)
    assert compare.violation(get, wrong) == "$.id of 200: 1 is not of type 'string'"
    assert compare.violation(get, answer(404, "{}", **json)).startswith("$ of 404")


@pytest.mark.once
def test_secrets_and_elements_are_found_but_not_given_ones(journal: Journal) -> None:
    journal.secrets["zqkeeper"] = {"7"}
    request = Request("GET", "/api/v1/feed")
    journal.judge_secrets("fuzz", request, answer(200, "by zqkeeper"), "7")
    journal.judge_secrets("fuzz", request.replace(path="/@zqkeeper"), answer(404, "zqkeeper"), "8")
    assert not journal.findings
    journal.judge_secrets("fuzz", request, answer(302, Location="/x/zqkeeper"), "8")
    page = answer(200, "<p><zzx onx=1>", Content_Type="text/html")
    journal.judge_secrets("fuzz", request, page, "7")
    assert journal.counts["leak"] == 2


@pytest.mark.once
def test_being_sent_to_log_in_is_no_acceptance() -> None:
    assert not answer(302, Location="/login?next=/posts").accepted
    assert answer(303, Location="/posts/1").accepted
    assert not answer(404).accepted


@pytest.mark.once
def test_requests_are_described_by_their_common_parts() -> None:
    assert pattern("/api/v1/posts/2235820986642735665/like") == "/api/v1/posts/{id}/like"
    assert pattern("/@alice/followers") == "/@{name}/followers"
    assert compact("x@y " + ")" * 49_900 + "a)") == "x@y «)»×49900a)"
    form = Form((("content", "\ud800"), ("title", "a b")))
    assert form.render()[0] == b"content=%ED%A0%80&title=a+b"
