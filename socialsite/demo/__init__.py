"""The demo: some three hundred people who follow, write and talk, made through the site's own actions."""

from socialsite.demo.seeding import DEMO_LOGINS, seed

__all__ = ["DEMO_LOGINS", "seed"]
