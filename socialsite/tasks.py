"""Celery tasks that concern every app."""

from celery import shared_task

from socialsite.core.staff_home import day_counts
from socialsite.staff_home.contents import DAYS


@shared_task(name="site.count_days")
def count_days() -> None:
    """Store the numbers of the days that are over, for the staff home."""
    day_counts.fill(DAYS)
