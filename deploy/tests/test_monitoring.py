"""Alerts and the dashboard use metrics that exist, and each alert has its words in the docs."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.services.site_processes import PROJECT_DIR, ROLES, program

pytestmark = pytest.mark.once

FOLDER = PROJECT_DIR / "deploy/monitoring"
TESTS = ("alerts_test.yml", "alerts_slow_test.yml")
METRIC = re.compile(r"\b(socialsite_\w+)")
OF_HISTOGRAM = re.compile(r"_(bucket|count|sum)$")


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return list(group["rules"])


def expressions(value: Any) -> list[str]:
    """Return all queries of a dashboard."""
    if isinstance(value, list):
        return [text for one in value for text in expressions(one)]
    if not isinstance(value, dict):
        return []
    own = [value["expr"]] if "expr" in value else []
    return own + [text for one in value.values() for text in expressions(one)]


def dashboard() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "dashboard.json").read_text()))


def promtool(*words: str) -> str:
    done = subprocess.run(
        [program("promtool"), *words],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_each_alert_fires_on_bad_figures_and_on_no_good_ones() -> None:
    promtool("check", "rules", "alerts.yml")
    wanted = [f"{rule['alert']}, {what} figures" for rule in rules() for what in ("bad", "good")]
    tried: list[str] = []
    for file in TESTS:
        promtool("test", "rules", file)
        tests = yaml.safe_load((FOLDER / file).read_text())["tests"]
        names = [test["name"] for test in tests]
        assert names == [name for name in wanted if name in names]
        tried += names
    assert sorted(tried) == sorted(wanted)


def test_each_alert_has_a_section_that_says_what_to_do() -> None:
    text = (PROJECT_DIR / "docs/alerts.md").read_text()
    assert re.findall("^### (.*)$", text, re.MULTILINE) == [rule["alert"] for rule in rules()]
    assert {rule["labels"]["severity"] for rule in rules()} == {"page", "ticket"}


def test_each_role_is_missed() -> None:
    (rule,) = (rule for rule in rules() if rule["alert"] == "ProcessMissing")
    assert re.findall('absent.*role="(.*?)"', rule["expr"]) == [role.name for role in ROLES]


def test_all_metrics_exist() -> None:
    documented = set(METRIC.findall((PROJECT_DIR / "docs/metrics.md").read_text()))
    used = [rule["expr"] for rule in rules()] + expressions(dashboard())
    found = {OF_HISTOGRAM.sub("", name) for text in used for name in METRIC.findall(text)}
    assert found <= documented
    shown = {OF_HISTOGRAM.sub("", name) for name in METRIC.findall(str(dashboard()))}
    assert len(shown) > 25


def test_the_queries_of_the_dashboard_are_valid(tmp_path: Path) -> None:
    queries = [text.replace("$__rate_interval", "5m") for text in expressions(dashboard())]
    records = [{"record": f"query_{number}", "expr": text} for number, text in enumerate(queries)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    assert f"{len(queries)} rules found" in promtool("check", "rules", str(path))


def test_panels_have_their_own_places() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        area = {
            (place["x"] + column, place["y"] + row)
            for column in range(place["w"])
            for row in range(place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not area & taken
        taken |= area
