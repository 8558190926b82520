"""Database helpers for MySQL and SQLite: transactions with retry, upsert, INSERT … SELECT.

Statements about the tables of an app belong to that app.

Rule: no Redis call inside a transaction. The isolation level is READ COMMITTED on MySQL; SQLite has
one writer.
"""

import contextlib
import functools
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, models, transaction
from django.db.models import QuerySet

from socialsite.core.db.routing import read_connection
from socialsite.core.telemetry.instruments import DATABASE_RETRIES

P = ParamSpec("P")
R = TypeVar("R")
ModelT = TypeVar("ModelT", bound=models.Model)

logger = logging.getLogger(__name__)

# Record changed since last read: MariaDB 11.6 and later.
RETRY_REASONS = {1213: "deadlock", 1205: "lock_timeout", 1020: "changed"}
RETRYABLE_MYSQL = set(RETRY_REASONS)
# The server, or all of MySQL, is read-only.
READ_ONLY_MYSQL = {1290, 1836}
ATTEMPTS = 6
# For which a process with a named lock may stand still.
LOCK_SECONDS = 60
_backoff = random.SystemRandom()


def is_mysql() -> bool:
    """True on MySQL and MariaDB."""
    return connection.vendor == "mysql"


def is_retryable(error: BaseException) -> bool:
    """Return True for errors after which the same transaction may succeed if it is run again."""
    if not isinstance(error, OperationalError):
        return False
    code = error.args[0] if error.args else None
    return code in RETRYABLE_MYSQL or "database is locked" in str(error)


def is_read_only() -> bool:
    """Return whether the server refuses the writes of this account."""
    if not is_mysql():
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@global.read_only")
        return bool(cursor.fetchone()[0])


@contextlib.contextmanager
def named_lock(name: str) -> Iterator[bool]:
    """Take a lock of this database by its name, for the block; yield False if it is taken.

    The lock ends with the connection, and that of a process that stands still ends after
    LOCK_SECONDS without a statement. SQLite has one process, which needs none.
    """
    if not is_mysql():
        yield True
        return
    full_name = f"{name} {connection.settings_dict['NAME']}"[:64]
    with connection.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK(%s, 0)", [full_name])
        is_taken = bool(cursor.fetchone()[0])
        if is_taken:
            cursor.execute("SET SESSION wait_timeout = %s", [LOCK_SECONDS])
    try:
        yield is_taken
    finally:
        if is_taken:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION wait_timeout = DEFAULT")
                cursor.execute("SELECT RELEASE_LOCK(%s)", [full_name])


@contextlib.contextmanager
def spare_write() -> Iterator[None]:
    """Run a write that a read can do without, outside of transactions.

    While the database is read-only, as before its disk is full, the read goes on without it.
    """
    try:
        yield
    except OperationalError as error:
        if not error.args or error.args[0] not in READ_ONLY_MYSQL:
            raise
        logger.info("the database is read-only; a write that can be missed was left out")


def atomic(function: Callable[P, R]) -> Callable[P, R]:
    """Run the function in a transaction; the outermost one is retried after a deadlock.

    A nested call joins the surrounding transaction and leaves the retry to the outermost one.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if in_transaction():
            return function(*args, **kwargs)
        for attempt in range(ATTEMPTS):
            try:
                with transaction.atomic():
                    return function(*args, **kwargs)
            except OperationalError as error:
                if not is_retryable(error) or attempt == ATTEMPTS - 1:
                    raise
                code = error.args[0] if error.args else 0
                DATABASE_RETRIES.labels(RETRY_REASONS.get(code, "locked")).inc()
                logger.info(
                    "retrying the transaction of %s: %s",
                    function.__qualname__,
                    error,
                    extra={"code": code, "attempt": attempt + 1},
                )
                time.sleep(_backoff.uniform(0, 0.01 * 2**attempt))
        raise AssertionError("unreachable")

    return run


@contextlib.contextmanager
def snapshot() -> Iterator[None]:
    """Run several reads on one consistent state of the database, without locks.

    Inside another transaction they see the state of that transaction.
    """
    if is_mysql() and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    with transaction.atomic():
        yield


def in_transaction() -> bool:
    """Return True inside a transaction; the transaction of a test case does not count."""
    return connection.in_atomic_block and not is_test_transaction()


def is_test_transaction() -> bool:
    """Return True if the only open blocks are those of a test case."""
    blocks = connection.atomic_blocks
    return bool(blocks) and all(getattr(block, "_from_testcase", False) for block in blocks)


def now_ms() -> int:
    """Return the database's clock as Unix time in ms: the one clock for positions.

    It is based on UTC: UNIX_TIMESTAMP(NOW()) uses local time, which repeats an hour when summer
    ends.
    """
    if not is_mysql():
        return time.time_ns() // 1_000_000
    with connection.cursor() as cursor:
        cursor.execute("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000")
        return int(cursor.fetchone()[0])


class Statement(NamedTuple):
    """A SELECT compiled by the ORM, and the values of its parameters."""

    sql: str
    params: Sequence[Any]


def united(selects: Sequence[str]) -> str:
    """Combine SELECTs that may each have an order and a limit; the union keeps no order."""
    # MySQL requires brackets around a part of a union, SQLite does not accept them.
    one = "({})" if is_mysql() else "SELECT * FROM ({})"
    return " UNION ALL ".join(one.format(select) for select in selects)


def read_union(*statements: Statement) -> list[list[tuple[Any, ...]]]:
    """Return the rows of several statements, read at the same moment, in no order.

    All statements select the same number of integer columns; the last column is the index of the
    statement, from 0.
    """
    found: list[list[tuple[Any, ...]]] = [[] for _ in statements]
    values = [value for statement in statements for value in statement.params]
    with read_connection().cursor() as cursor:
        cursor.execute(united([statement.sql for statement in statements]), values)
        for row in cursor.fetchall():
            found[row[-1]].append(row)
    return found


def _statement(source: "QuerySet[Any, Any] | Statement") -> Statement:
    if isinstance(source, Statement):
        return source
    return Statement(*source.query.get_compiler(DEFAULT_DB_ALIAS, elide_empty=False).as_sql())


def rows_locked_in_share(source: "QuerySet[Any, Any] | Statement") -> list[tuple[Any, ...]]:
    """Read a `values_list` QuerySet and lock its rows in share mode until the transaction ends.

    Several readers may lock a row at once, and no writer can change it. SQLite has one writer
    anyway.
    """
    sql, params = _statement(source)
    lock = " LOCK IN SHARE MODE" if is_mysql() else ""
    with connection.cursor() as cursor:
        cursor.execute(sql + lock, params)
        return list(cursor.fetchall())


def upsert(
    model: type[models.Model],
    rows: Sequence[models.Model],
    *,
    unique_fields: Sequence[str],
    update_fields: Sequence[str],
) -> None:
    """Insert rows, or update `update_fields` where `unique_fields` are taken, in one statement.

    MySQL forbids naming the unique fields, SQLite requires it.
    """
    model._default_manager.bulk_create(
        rows,
        update_conflicts=True,
        update_fields=update_fields,
        unique_fields=None if is_mysql() else unique_fields,
    )


def insert_ignore(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    """Insert rows, leaving those that are already there as they are."""
    model._default_manager.bulk_create(rows, ignore_conflicts=True)


def ensure(*rows: models.Model) -> None:
    """Insert rows of one model unless a unique key is taken; lock the rows exclusively.

    INSERT IGNORE locks an existing row in share mode, so two callers that then change it would
    deadlock. The update that changes nothing names the last column: Vitess permits none of a column
    that determines the shard.
    """
    same = connection.ops.quote_name(str(type(rows[0])._meta.concrete_fields[-1].column))
    otherwise = f"DUPLICATE KEY UPDATE {same} = {same}" if is_mysql() else "CONFLICT DO NOTHING"
    _insert("INSERT", rows, f" ON {otherwise}")


def insert(row: ModelT) -> ModelT:
    """Insert a row without the work of `save`: no signals, and an automatic key stays unset."""
    _insert("INSERT", [row])
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return row


def insert_once(row: models.Model) -> bool:
    """Insert a row unless one of its unique keys is taken; return whether this call inserted it.

    Waits for transactions that write or delete the same key, and for no others. The row needs its
    primary key.
    """
    return _insert("INSERT IGNORE" if is_mysql() else "INSERT OR IGNORE", [row]) == 1


def _insert(verb: str, rows: Sequence[models.Model], otherwise: str = "") -> int:
    """Insert rows of one model with all columns; return the database's row count."""
    meta = type(rows[0])._meta
    fields: Sequence[Any] = meta.concrete_fields
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    values = [
        field.get_db_prep_save(field.pre_save(row, add=True), connection)
        for row in rows
        for field in fields
    ]
    places = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * len(rows))
    with connection.cursor() as cursor:
        # The names come from the model; values are passed as parameters.
        cursor.execute(
            f"{verb} INTO {quote(meta.db_table)} ({columns}) VALUES {places}{otherwise}", values
        )
        return int(cursor.rowcount)


def insert_from_select(
    model: type[models.Model],
    fields: Sequence[str],
    source: "QuerySet[Any, Any] | Statement",
    *,
    lock_source: bool = False,
) -> int:
    """Insert the rows of a `values_list` QuerySet into a table; existing rows stay.

    `fields` are names of `model`, in the order of the QuerySet's columns. With `lock_source` the
    rows read are locked in share mode, so that they are still valid when the inserts commit.
    Returns the number of rows inserted.
    """
    meta: Any = model._meta
    columns = ", ".join(connection.ops.quote_name(meta.get_field(name).column) for name in fields)
    sql, params = _statement(source)
    verb = "INSERT IGNORE" if is_mysql() else "INSERT OR IGNORE"
    lock = " LOCK IN SHARE MODE" if lock_source and is_mysql() else ""
    table = connection.ops.quote_name(meta.db_table)
    with connection.cursor() as cursor:
        # Django compiles every part from fields; values are passed as parameters.
        cursor.execute(f"{verb} INTO {table} ({columns}) {sql}{lock}", params)
        return int(cursor.rowcount)
