"""A plugin of pytest: each process of a run gets services of its own.

`-p deploy.services.per_process` reads `PROCESSES`, a JSON list of environments, one per process of
pytest-xdist, and applies its own before Django reads its settings.
"""

import json
import os

VARIABLE = "PROCESSES"

if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # gw0, gw1, …
    os.environ.update(json.loads(os.environ[VARIABLE])[int(worker.removeprefix("gw"))])
