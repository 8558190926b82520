"""Demo data: about three hundred people and their posts, created through the site's actions.

Test data does not belong here; the fixtures are in `conftest.py`.
"""

from socialsite.demo.seeding import DEMO_LOGINS, seed

__all__ = ["DEMO_LOGINS", "seed"]
