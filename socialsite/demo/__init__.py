"""Demo data: about three hundred people and their posts, created through the site's actions."""

from socialsite.demo.seeding import DEMO_LOGINS, seed

__all__ = ["DEMO_LOGINS", "seed"]
