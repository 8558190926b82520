"""How long a page stays open after its session ended: `make chaos ARGS="kicks --trials 100"`.

Each trial has a real browser with the home page open, and a second login of the same kind over the
API of a full stack. Measured is the time from the login's response to the frame in which the page
shows the sign-out reason. If the channel layer is down (deaf: Redis refuses only messages; killed;
hanging) the page is signed out because its socket polls. A page with another text, or one that is
not signed out, breaks the invariant. Then the program exits with 1, as it does after a missed goal.
"""

import random
import secrets
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from bench.support import harness
from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.browser import kicking
from socialsite.tests.browser.kicking import Member, seconds_until_notice

EXPECTED = "You signed in on another Chrome (Chrome, Windows)."
# A socket polls every four seconds: the login comes at a random time within that interval.
SPREAD_SECONDS = 4.0
LIVE_SECONDS, DEAD_SECONDS = 1.0, 6.0


def trial(member: Member, browser: Browser, wait: float) -> tuple[float, str]:
    """Kick one page that was open for some seconds; return the seconds, and its text."""
    context = member.browser(browser)
    try:
        page = member.open(context)
        time.sleep(wait)
        seconds = seconds_until_notice(page, member.log_in())
        return seconds, page.locator("#notice").inner_text()
    finally:
        context.close()


def main() -> int:
    """Run the trials and report them."""
    options = harness.arguments(
        "Time from a second login to the notice on the first one's page.",
        {"--trials": 100, "--dead": 30},
    )
    dice = random.Random(options.seed)
    report = harness.Report("kicks", options)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory(prefix="socialsite-kicks-") as folder:
        directory = Path(folder)
        directory.chmod(0o711)  # the services may run under another account
        with stacks.full_stack(directory) as stack, stacks.browser() as browser:
            for mode in ("live", *kicking.TROUBLES):
                count = options.trials if mode == "live" else options.dead
                series, said = run(stack, browser, mode, count, dice)
                wrong += sum(words != EXPECTED for words in said)
                ms = [
                    f"{seconds * 1000:.0f}"
                    for seconds in (series.p50, series.p99, max(series.times))
                ]
                rows.append([mode, len(series.times), *ms])
                if mode == "live":
                    report.goal("live: median, s", series.p50, at_most=LIVE_SECONDS)
                else:
                    report.goal(f"{mode}: longest, s", max(series.times), at_most=DEAD_SECONDS)
    report.rows(rows, ["channel layer", "n", "p50 ms", "p99 ms", "max ms"])
    report.goal("pages that said something else", wrong, exactly=0)
    return report.finish()


def run(
    stack: Stack, browser: Browser, mode: str, count: int, dice: random.Random
) -> tuple[harness.Series, list[str]]:
    """Run the trials of one mode, which stays on for all of them."""
    member = Member(stack.url, f"{mode}{secrets.token_hex(4)}")
    member.log_in()
    series, said = harness.Series(), []
    with kicking.trouble(mode, stack):
        for _trial in range(count):
            wait = 0.0 if mode == "live" else dice.uniform(0, SPREAD_SECONDS)
            seconds, words = trial(member, browser, wait)
            series.times.append(seconds)
            said.append(words)
    return series, said


if __name__ == "__main__":
    raise SystemExit(main())
