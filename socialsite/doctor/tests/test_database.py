"""Each check of the database sees what it is for, on a real server whose settings are changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from socialsite.doctor.checks import database
from socialsite.doctor.findings import ERROR, OK, WARNING, Finding, worst

pytestmark = pytest.mark.django_db
full = pytest.mark.full

FLUSH = "innodb_flush_log_at_trx_commit"


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def variable(name: str, value: int) -> Iterator[None]:
    """Change a global variable of the server."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT @@GLOBAL.{name}")
        before = cursor.fetchone()[0]
        cursor.execute(f"SET GLOBAL {name} = %s", [value])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = %s", [before])


@contextmanager
def other_connection(*after: str) -> Iterator[Callable[[str], Any]]:
    """Change tables beside the transaction of the test, and run statements at the end."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            try:
                yield cursor.execute
            finally:
                for statement in after:
                    cursor.execute(statement)
    finally:
        other.close()


def texts(findings: Iterator[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


@pytest.mark.embedded
def test_a_database_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(database.reachable()) == OK
    other: Any = connection.copy()
    other.settings_dict |= {"NAME": "/nothing/here", "HOST": "127.0.0.1", "PORT": "1"}
    monkeypatch.setattr(database, "connection", other)
    assert "does not answer" in texts(database.reachable(), ERROR)


@full
def test_a_log_that_is_written_once_a_second_is_an_error() -> None:
    with variable(FLUSH, 2):
        assert f"{FLUSH} is 2" in texts(database.durability(), ERROR)
    with variable(FLUSH, 1):
        assert worst(database.durability()) == OK


@full
def test_options_that_need_a_restart_are_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values are written by hand: a running server does not change them."""
    found = {FLUSH: "1", "innodb_doublewrite": "ON", "sync_binlog": "0", "log_bin": "OFF"}
    monkeypatch.setattr(database, "_variables", lambda *_names: found)
    assert worst(database.durability()) == OK  # without a binary log sync_binlog does not matter
    found |= {"innodb_doublewrite": "OFF", "log_bin": "ON"}
    assert "innodb_doublewrite is off" in texts(database.durability(), ERROR)
    assert "sync_binlog is 0" in texts(database.durability(), WARNING)


@pytest.mark.once
def test_sqlite_that_does_not_wait_for_the_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: Any = connection.copy()
    other.settings_dict |= {"NAME": tmp_path / "db.sqlite3"}
    monkeypatch.setattr(database, "connection", other)
    try:
        assert worst(database.durability()) == OK
        with other.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=OFF")
            cursor.execute("PRAGMA journal_mode=DELETE")
        assert "does not wait for the disk" in texts(database.durability(), ERROR)
        assert "is delete instead of WAL" in texts(database.durability(), WARNING)
    finally:
        other.close()


@full
def test_a_latin1_column_is_named() -> None:
    assert worst(database.charset()) == OK
    with other_connection("DROP TABLE doctor_old") as execute:
        execute("CREATE TABLE doctor_old (words VARCHAR(9) CHARACTER SET latin1)")
        assert "doctor_old.words (latin1)" in texts(database.charset(), ERROR)


@full
def test_a_database_with_another_character_set_is_an_error() -> None:
    right = "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    with other_connection(right) as execute:
        execute("ALTER DATABASE CHARACTER SET latin1")
        assert "is latin1" in texts(database.charset(), ERROR)
        execute("ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        assert "utf8mb4_unicode_ci" in texts(database.charset(), WARNING)


@full
def test_a_connection_with_another_character_set_is_an_error() -> None:
    ((before,),) = database._rows("SELECT @@collation_connection")
    try:
        run("SET NAMES latin1")
        assert "connection to the database uses latin1" in texts(database.charset(), ERROR)
    finally:
        run(f"SET NAMES utf8mb4 COLLATE {before}")
    assert worst(database.charset()) == OK


@full
def test_other_isolation_levels_are_found() -> None:
    assert worst(database.isolation()) == OK
    try:
        run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        assert "REPEATABLE-READ" in texts(database.isolation(), ERROR)
    finally:
        run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    try:
        run("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        assert "SERIALIZABLE" in texts(database.isolation(), WARNING)
    finally:
        run("SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED")


@full
def test_a_mode_that_shortens_values_is_an_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@SESSION.sql_mode")
        before = cursor.fetchone()[0]
        cursor.execute("SET SESSION sql_mode = ''")
        try:
            assert "not strict" in texts(database.isolation(), ERROR)
        finally:
            cursor.execute("SET SESSION sql_mode = %s", [before])


@pytest.mark.embedded
def test_migrations_that_lack_are_counted() -> None:
    assert worst(database.migrations()) == OK
    MigrationRecorder(connection).migration_qs.filter(
        app="core", name="0025_slots_of_cache_servers"
    ).delete()
    assert "core.0025_slots_of_cache_servers" in texts(database.migrations(), ERROR)


@pytest.mark.embedded
def test_a_database_of_a_newer_version_is_an_error() -> None:
    MigrationRecorder(connection).record_applied("core", "0999_of_the_future")
    assert "core.0999_of_the_future" in texts(database.migrations(), ERROR)
