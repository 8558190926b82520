"""What the log leaves out."""

import logging


class OneLine(logging.Filter):
    """Takes the traceback off what Django refuses, such as a wrong Host.

    Anybody can send such a request as often as they like, and nothing of ours is at fault.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, those of refused requests without a traceback."""
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
        return True
