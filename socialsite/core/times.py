"""The format of times in the API, in events and in stored cards."""

from datetime import UTC, datetime


def iso(ts_ms: int) -> str:
    """Format a Unix time in ms as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    seconds, ms = divmod(ts_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"


def iso_of(moment: datetime) -> str:
    """Format an aware time in the same way."""
    return iso(round(moment.timestamp() * 1000))
