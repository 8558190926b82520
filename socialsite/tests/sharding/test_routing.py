"""The model of Vitess's planner knows statements of one shard from those of all shards."""

# Nothing runs these statements.
# ruff: noqa: S608

from typing import Any

import pytest

from socialsite.core.sharding import places
from socialsite.tests.sharding.recording import valued
from socialsite.tests.sharding.routing import How, Router, plain

pytestmark = pytest.mark.once

ROUTER = Router(places())
MY_FOLLOWS = "SELECT r.to_user_id FROM relations_relationship r WHERE r.from_user_id = 1"


def ways(sql: str) -> dict[str, How]:
    """Return the worst way to each table."""
    found: dict[str, How] = {}
    for use in ROUTER.uses(plain(sql)):
        found[use.table] = max(use.how, found.get(use.table, use.how))
    return found


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM `feeds_inboxentry` WHERE `feeds_inboxentry`.`user_id` = %s", [How.VALUE]),
        ("SELECT a FROM feeds_inboxentry WHERE post_id = %s", [How.ALL]),
        ("SELECT a FROM feeds_inboxentry WHERE user_id > %s", [How.ALL]),
        ("SELECT a FROM feeds_inboxentry WHERE user_id = %s OR post_id = %s", [How.ALL]),
        ("SELECT a FROM feeds_inboxentry WHERE NOT (user_id = %s)", [How.ALL]),
        ("SELECT a FROM feeds_inboxentry WHERE user_id IN (%s, %s)", [How.VALUE]),
        # A lookup table leads from a post's id to the shard of its author.
        ("SELECT a FROM feeds_post WHERE id IN (%s, %s)", [How.VALUE]),
        ("SELECT a FROM accounts_user WHERE username_key = %s", [How.VALUE]),
        ("SELECT a FROM accounts_user WHERE nickname_key = %s", [How.ALL]),
        ("SELECT a FROM feeds_fanout WHERE post_id = %s", [How.VALUE]),
        ("SELECT a FROM core_sitesettings WHERE id = %s", [How.WHOLE]),
        # Joins.
        (
            "SELECT a FROM feeds_post p INNER JOIN feeds_postcontent c ON (p.id = c.post_id)"
            " INNER JOIN accounts_user u ON (p.author_id = u.id) WHERE p.id = %s",
            [How.VALUE, How.BESIDE, How.BESIDE],
        ),
        (
            "SELECT a FROM relations_relationship r INNER JOIN accounts_user u ON"
            " (r.to_user_id = u.id) WHERE r.from_user_id = %s",
            [How.VALUE, How.AFTER],
        ),
        (
            "SELECT a FROM accounts_user u INNER JOIN relations_relationship r ON"
            " (u.id = r.from_user_id)",
            [How.ALL, How.ALL],
        ),
        # Subselects.
        (
            f"SELECT a FROM feeds_post p WHERE p.author_id IN ({MY_FOLLOWS})",
            [How.AFTER, How.VALUE],
        ),
        (
            f"SELECT a FROM feeds_post p WHERE p.id = 2 AND NOT (p.author_id IN ({MY_FOLLOWS}))",
            [How.VALUE, How.VALUE],
        ),
        (
            "SELECT a FROM feeds_post p WHERE p.id = 2 AND (p.visibility = 3 OR"
            f" p.author_id IN ({MY_FOLLOWS}))",
            [How.VALUE, How.REFUSED],
        ),
        (
            "SELECT (SELECT b.batch FROM accounts_tokenbatch b WHERE b.user_id = v.user_id)"
            " FROM accounts_tokenversion v WHERE v.user_id = %s",
            [How.VALUE, How.BESIDE],
        ),
        (
            "SELECT (SELECT c.deleted FROM interactions_comment c WHERE c.id = l.subj_id)"
            " FROM interactions_like l WHERE l.user_id = %s",
            [How.VALUE, How.REFUSED],
        ),
        # Changes.
        ("DELETE FROM feeds_inboxentry WHERE user_id IN (%s, %s) AND post_id = %s", [How.VALUE]),
        ("DELETE FROM feeds_inboxentry WHERE post_id = %s", [How.ALL]),
        ("UPDATE relations_relationship SET counted = 1 WHERE id = %s", [How.ALL]),
        ("UPDATE accounts_tokenversion SET user_id = 1 WHERE user_id = %s", [How.REFUSED]),
        (
            f"DELETE FROM feeds_inboxentry WHERE user_id = 1 AND author_id IN ({MY_FOLLOWS})",
            [How.VALUE, How.REFUSED],
        ),
        # Insertions.
        ("INSERT INTO relations_relationship (from_user_id) VALUES (%s), (%s)", [How.VALUE]),
        ("INSERT INTO relations_relationship (to_user_id) VALUES (%s)", [How.REFUSED]),
        (
            "INSERT INTO core_allowance (`key`, full_at) VALUES (%s, %s)"
            " ON DUPLICATE KEY UPDATE `key` = `key`",
            [How.REFUSED],
        ),
        (
            "INSERT INTO core_allowance (`key`, full_at) VALUES (%s, %s)"
            " ON DUPLICATE KEY UPDATE full_at = full_at",
            [How.VALUE],
        ),
        (
            "INSERT INTO feeds_inboxentry (user_id, post_id) SELECT 5, p.id FROM feeds_post p"
            " WHERE p.author_id = 6",
            [How.VALUE, How.VALUE],
        ),
        # Unions.
        (
            "(SELECT a FROM feeds_post WHERE author_id = %s) UNION ALL (SELECT a FROM feeds_post"
            " WHERE position > %s)",
            [How.ALL],
        ),
    ],
)
def test_a_statement_names_owners_or_not(sql: str, expected: list[How]) -> None:
    assert list(ways(sql).values()) == expected


def test_a_fan_out_goes_through_vtgate_to_where_the_followers_live() -> None:
    found = ways(
        "INSERT IGNORE INTO feeds_inboxentry (user_id, publish_time, post_id, author_id) SELECT"
        " r.to_user_id, %s, %s, %s FROM relations_relationship r WHERE r.from_user_id = %s AND"
        " r.to_user_id > %s AND r.to_user_id <= %s LOCK IN SHARE MODE"
    )
    assert found == {"feeds_inboxentry": How.MOVED, "relations_relationship": How.VALUE}


@pytest.mark.parametrize(
    ("sql", "params", "text"),
    [
        ("a = %s AND b LIKE '%%x'", (5,), "a = 5 AND b LIKE '%x'"),
        ("a IN (%s, %s, %s)", (None, True, "it's"), "a IN (NULL, 1, 'its')"),
    ],
)
def test_values_become_part_of_a_statement(sql: str, params: Any, text: str) -> None:
    assert valued(sql, params) == text
