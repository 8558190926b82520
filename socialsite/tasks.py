"""Celery tasks that concern every app."""

from celery import shared_task

from socialsite import exports, imports
from socialsite.core import own_copies, retention
from socialsite.core.events import beat
from socialsite.core.exports import jobs
from socialsite.core.imports import jobs as import_jobs
from socialsite.core.staff_home import day_counts
from socialsite.retention import KEPT
from socialsite.staff_home.contents import DAYS

beat.OF_EACH_MACHINE.append(own_copies.clear)


@shared_task(name="site.count_days")
def count_days() -> None:
    """Store the numbers of the days that are over, for the staff home."""
    day_counts.fill(DAYS)


@shared_task(name="site.start_exports")
def start_exports() -> None:
    """Send a message to the queue of long work if an archive is due."""
    jobs.start()


@shared_task(name="site.build_exports")
def build_exports() -> None:
    """Make the archives that are due; the queue of long work has this task."""
    while jobs.work_off(exports.write):
        pass


@shared_task(name="site.apply_retention")
def apply_retention() -> None:
    """Delete what was kept long enough, and report what is kept too long."""
    retention.apply(KEPT)


@shared_task(name="site.start_imports")
def start_imports() -> None:
    """Send a message to the queue of long work if an import is due."""
    import_jobs.start()


@shared_task(name="site.run_imports")
def run_imports() -> None:
    """Check, run and undo the imports that are due; the queue of long work has this task."""
    while import_jobs.work_off(imports.KINDS):
        pass
