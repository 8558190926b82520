"""Background work: do workers run, and does something wait."""

from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from socialsite.core import db
from socialsite.core.events import relay
from socialsite.core.events.stream import waiting
from socialsite.core.media.videos import queries as videos
from socialsite.core.models import Event, ScheduledRun
from socialsite.doctor.findings import Finding, error, ok, warning

# The worker's most frequent task runs every two seconds.
SCHEDULE_SECONDS = 60
LATE_SECONDS, TOO_LATE_SECONDS = 60, 600
VIDEO_MS = 30 * 60_000


def worker() -> Iterator[Finding]:
    """When a worker last ran the schedule, the oldest event, dead events, the oldest video."""
    problems = [*_schedule(), *_events()]
    waiting_ms = videos.waiting()[1]
    if waiting_ms > VIDEO_MS:
        problems.append(
            warning(
                _("The oldest video waits for %(minutes)d minutes.")
                % {"minutes": waiting_ms // 60_000},
                _("Start a worker with `-Q video` on a machine that has ffmpeg."),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("Workers run, and no event waits."))


def _schedule() -> Iterator[Finding]:
    if settings.EMBEDDED:  # the schedule is in the process and stores nothing
        return
    advice = _(
        "Start a worker (`site reload`; in a checkout `make worker`), and look into its log."
    )
    newest = ScheduledRun.objects.order_by("-last_run").values_list("last_run", flat=True).first()
    if newest is None:
        yield error(_("No worker has ever run."), advice)
        return
    seconds = (db.now_ms() - newest) // 1000
    if seconds > SCHEDULE_SECONDS:
        text = _("No worker has run for %(seconds)d s: mails and deliveries wait.")
        yield error(text % {"seconds": seconds}, advice)


def _stream() -> Iterator[Finding]:
    lag = waiting.lag_seconds()
    if lag <= LATE_SECONDS:
        return
    if settings.EVENT_STREAM is None:
        yield warning(
            _("Records of the change stream wait, but there is no stream."),
            _("Set EVENT_STREAM_URL again, or empty the table core_streamrecord."),
        )
        return
    yield warning(
        _("The oldest record of the change stream waits for %(seconds)d s.") % {"seconds": lag},
        _("Look whether the broker of EVENT_STREAM_URL answers, and into the log of the workers."),
    )


def _events() -> Iterator[Finding]:
    lag = relay.lag_ms() / 1000
    if lag > LATE_SECONDS:
        text = _("The oldest event waits for %(seconds)d s.") % {"seconds": lag}
        advice = _("Look into the log of the workers, or start more of them.")
        yield error(text, advice) if lag > TOO_LATE_SECONDS else warning(text, advice)
    yield from _stream()
    dead = Event.objects.filter(dead=True).count()
    if dead:
        text = ngettext(
            "%(count)d event failed too often.", "%(count)d events failed too often.", dead
        )
        yield warning(
            text % {"count": dead},
            _("Read the errors under “Events” in the admin, and retry the events there."),
        )
