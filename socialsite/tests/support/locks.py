"""How a test of two transactions on MariaDB sees that one of them waits for the other."""

from collections.abc import Callable

from django.db import connection

from socialsite.tests.support.waiting import eventually


def someone_waits() -> bool:
    """Return whether a transaction of this server waits for a lock of another one.

    The tables of InnoDB in `information_schema` are no help: they stay as they are while somebody
    reads them more often than every 100 ms.
    """
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
        return int(cursor.fetchone()[1]) > 0


def waits_or(is_done: Callable[[], bool]) -> bool:
    """Wait until another transaction waits for a lock, or did not have to and is done.

    Returns whether it waits. How long it takes to get there decides nothing.
    """
    eventually(lambda: is_done() or someone_waits())
    return not is_done()
