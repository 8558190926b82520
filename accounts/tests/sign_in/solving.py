"""Solutions of the task at sign-up, as a client finds them."""

from typing import Any

from altcha import v1

from accounts.sign_in import challenge


def solve(task: Any = None) -> str:
    """Return the solution of a task, by default of a new one."""
    task = task or challenge.new()
    found = v1.solve_challenge(
        task["challenge"], task["salt"], task["algorithm"], task["maxnumber"]
    )
    assert found is not None
    payload = {name: task[name] for name in ("algorithm", "challenge", "salt", "signature")}
    return v1.Payload(**payload, number=found.number).to_base64()
