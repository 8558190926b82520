"""The database: connection, durability, character set, isolation, migrations."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from socialsite.core import db
from socialsite.core.runtime.redaction import redact
from socialsite.doctor.findings import Finding, error, ok, warning

CHARSET, COLLATION = "utf8mb4", "utf8mb4_bin"
SHOWN_MAX = 5


# --- connection ---------------------------------------------------------------------------------
def reachable() -> Iterator[Finding]:
    """Whether the database answers at all; the other checks are unknown if it does not."""
    try:
        _rows("SELECT 1")
    except DatabaseError as reason:
        yield error(
            _("The database does not answer: %(reason)s") % {"reason": redact(str(reason))},
            _(
                "Start it (`systemctl start mariadb`), or correct DATABASE_URL: the site answers"
                " every request with 503 now."
            ),
        )
    else:
        yield ok(_("The database answers."))


# --- durability ---------------------------------------------------------------------------------
def durability() -> Iterator[Finding]:
    """Whether a power cut may lose what the site acknowledged."""
    problems = list(_mysql_losses() if db.is_mysql() else _sqlite_losses())
    yield from problems
    if not problems:
        yield ok(_("The database stores each transaction on the disk as it should."))
    if db.is_mysql() and not _is_on(_variables("log_bin")["log_bin"]):
        yield ok(
            _("The binary log is off, so a restore ends at the time of the backup."),
            _("Turn on log_bin if you want to restore to a later moment."),
        )


def _mysql_losses() -> Iterator[Finding]:
    names = ("innodb_flush_log_at_trx_commit", "innodb_doublewrite", "sync_binlog", "log_bin")
    found = _variables(*names)
    if found["innodb_flush_log_at_trx_commit"] != "1":
        yield error(
            _("innodb_flush_log_at_trx_commit is %(value)s: a power cut loses the last second.")
            % {"value": found["innodb_flush_log_at_trx_commit"]},
            _("Set innodb_flush_log_at_trx_commit=1 in the configuration of the database."),
        )
    if not _is_on(found["innodb_doublewrite"]):
        yield error(
            _("innodb_doublewrite is off: a power cut may leave broken pages."),
            _("Set innodb_doublewrite=ON in the configuration of the database."),
        )
    if _is_on(found["log_bin"]) and found["sync_binlog"] != "1":
        yield warning(
            _("sync_binlog is %(value)s: a power cut may lose the end of the binary log.")
            % {"value": found["sync_binlog"]},
            _("Set sync_binlog=1 in the configuration of the database."),
        )


def _sqlite_losses() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous")
        synchronous = int(cursor.fetchone()[0])
        cursor.execute("PRAGMA journal_mode")
        journal = str(cursor.fetchone()[0])
    if not synchronous:
        yield error(
            _("SQLite does not wait for the disk: a power cut may break the database."),
            _("Remove what sets PRAGMA synchronous; the site itself sets NORMAL."),
        )
    if journal != "wal":
        yield warning(
            _("The journal mode of SQLite is %(mode)s instead of WAL.") % {"mode": journal},
            _("Put DATA_DIR on a local disk: file systems of a network cannot have WAL."),
        )


# --- characters ---------------------------------------------------------------------------------
def charset() -> Iterator[Finding]:
    """Whether every text can hold every character."""
    if not db.is_mysql():
        yield ok(_("SQLite stores every character."))
        return
    problems = [*_default_charset(), *_columns()]
    yield from problems
    if not problems:
        yield ok(_("The database and all of its columns use %(charset)s.") % {"charset": CHARSET})


def _default_charset() -> Iterator[Finding]:
    rows = _rows(
        "SELECT default_character_set_name, default_collation_name FROM information_schema.schemata"
        " WHERE schema_name = DATABASE()"
    )
    found, collation = rows[0]
    advice = _("Run ALTER DATABASE … CHARACTER SET utf8mb4 COLLATE utf8mb4_bin.")
    if found != CHARSET:
        text = _("The character set of the database is %(charset)s: new tables refuse emojis.")
        yield error(text % {"charset": found}, advice)
    elif collation != COLLATION:
        text = _("The collation of the database is %(collation)s instead of %(wanted)s.")
        yield warning(text % {"collation": collation, "wanted": COLLATION}, advice)
    (connected,) = _rows("SELECT @@character_set_client")[0]
    if connected != CHARSET:
        yield error(
            _("The connection to the database uses %(charset)s.") % {"charset": connected},
            _("Remove `charset` from DATABASE_URL."),
        )


def _columns() -> Iterator[Finding]:
    rows = _rows(
        "SELECT table_name, column_name, character_set_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND character_set_name <> %s"
        " ORDER BY table_name, ordinal_position",
        CHARSET,
    )
    if rows:
        some = ", ".join(f"{table}.{column} ({own})" for table, column, own in rows[:SHOWN_MAX])
        more = "" if len(rows) <= SHOWN_MAX else " …"
        yield error(
            _("Columns that cannot hold every character: %(number)d, such as %(columns)s.")
            % {"number": len(rows), "columns": some + more},
            _("Run ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin."),
        )


# --- isolation ----------------------------------------------------------------------------------
def isolation() -> Iterator[Finding]:
    """READ COMMITTED, on which locks and repeated transactions rely, and strict values."""
    if not db.is_mysql():
        yield ok(_("SQLite has one writer at a time."))
        return
    problems = []
    name = "transaction_isolation"
    if not _variables(name, scope="SESSION"):  # MariaDB before 11.1
        name = "tx_isolation"
    session, everywhere = _variables(name, scope="SESSION")[name], _variables(name)[name]
    if session != "READ-COMMITTED":
        problems.append(
            error(
                _("The isolation level of the site's connections is %(level)s.")
                % {"level": session},
                _("Remove `isolation_level` and `init_command` from DATABASE_URL."),
            )
        )
    if everywhere != "READ-COMMITTED":
        problems.append(
            warning(
                _("The isolation level of the server is %(level)s; the site sets its own.")
                % {"level": everywhere},
                _(
                    "Set transaction-isolation=READ-COMMITTED in the configuration of the database,"
                    " for programs beside the site."
                ),
            )
        )
    mode = _variables("sql_mode", scope="SESSION")["sql_mode"]
    if not {"STRICT_ALL_TABLES", "STRICT_TRANS_TABLES"} & {*mode.split(",")}:
        problems.append(
            error(
                _("The database shortens values that are too long: sql_mode is not strict."),
                _("Remove `sql_mode` and `init_command` from DATABASE_URL."),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("Transactions are READ COMMITTED, and wrong values are refused."))


# --- migrations ---------------------------------------------------------------------------------
def migrations() -> Iterator[Finding]:
    """Migrations that the database lacks, and those that only the database knows."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    if plan:
        yield error(
            _("Migrations that are not applied: %(number)d, the first is %(name)s.")
            % {"number": len(plan), "name": plan[0][0]},
            _("Stop the site, make a backup, and run `manage.py migrate`."),
        )
    known = {*loader.disk_migrations}
    for migration in loader.disk_migrations.values():
        known |= {*migration.replaces}
    ours = {config.label for config in apps.get_app_configs()}
    newer = sorted(
        f"{app}.{name}"
        for app, name in executor.recorder.applied_migrations()
        if app in ours and (app, name) not in known
    )
    if newer:
        yield error(
            _("The database has migrations that this version does not know: %(names)s.")
            % {"names": ", ".join(newer[:SHOWN_MAX])},
            _("Run the version of the site that made them, or restore the backup before it."),
        )
    if not plan and not newer:
        yield ok(_("The tables are those of this version."))


# --- reading ------------------------------------------------------------------------------------
def _rows(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return list(cursor.fetchall())


def _variables(*names: str, scope: str = "GLOBAL") -> dict[str, str]:
    """Return variables of the server, or of this connection; unknown names are missing."""
    marks = ", ".join(["%s"] * len(names))
    return dict(_rows(f"SHOW {scope} VARIABLES WHERE Variable_name IN ({marks})", *names))


def _is_on(value: str) -> bool:
    return value.upper() not in ("OFF", "0")
