"""How a test of two transactions on MariaDB sees that one of them waits for the other."""

from collections.abc import Callable

from django.db import connection

from socialsite.tests.support.waiting import eventually


def someone_waits() -> bool:
    """Return whether a transaction of this database waits for a lock of another one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.innodb_trx t"
            " JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id"
            " WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()"
        )
        return bool(cursor.fetchone()[0])


def waits_or(is_done: Callable[[], bool]) -> bool:
    """Wait until another transaction waits for a lock, or did not have to and is done.

    Returns whether it waits. How long it takes to get there decides nothing.
    """
    eventually(lambda: is_done() or someone_waits())
    return not is_done()
