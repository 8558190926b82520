"""Accessibility problems of a page in Chromium, as axe-core finds them."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# All rules, also those that axe-core leaves out by default (such as `target-size`).
RUN = """async () => {
  const rules = Object.fromEntries(axe.getRules().map(({ ruleId }) => [ruleId, { enabled: true }]));
  const { violations } = await axe.run(document, { rules, resultTypes: ["violations"] });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary: why }) => `${id}: ${help}: ${target.join(" ")}: ${why}`));
}"""


def problems(page: Page) -> list[str]:
    """Return one line for each rule and element that violates it."""
    page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(RUN)
    return [" ".join(line.split()) for line in found]
