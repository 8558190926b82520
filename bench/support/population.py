"""A database of a site of any size, in the shape of `bench.support.shape`: for measuring only.

The rows are those that the actions, the fan-out and the indexing leave: people with the index of
their names, both rows of every pair, counters, posts with texts, tags and the index of their words,
inboxes, likes and comments. Reposts, pictures, notifications, sign-ins and the event outbox are
left out, as are finished fan-outs, which the sweep removes after some days. Needs MariaDB for its
sequence engine.

Ids are made from times, as the site makes them, so rows of one person are spread over the tables as
on a real site. Every number follows from the shape and the seed: people and posts are numbered, and
their ids are computed from their numbers.
"""

# The statements are made of numbers and of names in this module.
# ruff: noqa: S608

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from bench.support import people
from bench.support.people import execute
from bench.support.shape import Shape
from socialsite.core import ids as core_ids

DAY_MS = 86_400_000
BATCH = 20_000
# The age in days of the oldest account, follow and post; the newest post is two days old.
OLDEST_ACCOUNT, OLDEST_FOLLOW, OLDEST_POST, NEWEST = 3000, 1000, 92, 2
WORDS, TAGS = 40_000, 20_000
TAGGED = 0.5
FIRST_TAG = 7 * 10**18
# The shares of posts that a follower of the author likes and comments on.
LIKED, COMMENTED = 0.2, 0.1
SYLLABLES = [a + b for a in "bcdfghklmnprtvw" for b in "aeiou"]
# A post has terms besides its words: the tag as a word and as a filter, and the author. They are
# words with these numbers and the number of the tag or the author.
TAG_WORDS, TAG_TERMS, FIRST_AUTHOR = 100_000, 200_000, 1_000_000
LOADING = {"innodb_buffer_pool_size": 4 << 30, "innodb_log_file_size": 2 << 30}
STAGES = ("person", "pair", "name", "follow", "writer", "post", "word", "post_word", "length")


class Times:
    """Times and ids by number, evenly spread over a period; also as SQL."""

    def __init__(self, now: int, oldest: int, count: int) -> None:
        """`oldest` in days before `now` (ms)."""
        self.first = now - oldest * DAY_MS
        self.step = max((oldest - NEWEST) * DAY_MS // count, 1)

    def of(self, number: int) -> int:
        """Return the time of a number in Unix ms."""
        return self.first + number * self.step

    def ident(self, number: int) -> int:
        """Return the id of a number."""
        return core_ids.first_of(self.of(number))

    def sql(self, number: str) -> str:
        """Return the time of a number as an expression."""
        return f"({self.first} + {number} * {self.step})"

    def id_sql(self, number: str) -> str:
        """Return the id of a number as an expression."""
        return f"({self.ident(0)} + {number} * {self.step << core_ids.LOW_BITS})"


class Population:
    """The people and posts of one database."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape, self.seed = shape, seed
        now = int(time.time()) * 1000
        self.people = Times(now, OLDEST_ACCOUNT, shape.people)
        self.follows = Times(now, OLDEST_FOLLOW, len(shape.actors))
        self.posts = Times(now, OLDEST_POST, len(shape.writers))

    def fill(self, say: Callable[[str], None]) -> None:
        """Fill the tables of the current database, which are empty."""
        steps = (
            self.stage,
            self.add_people,
            self.add_names,
            self.add_relations,
            self.add_posts,
            self.add_words,
            self.add_inboxes,
            self.add_likes,
            self.add_comments,
            self.add_subjects,
        )
        with loading():
            for step in steps:
                began = time.monotonic()
                step()
                say(f"- {step.__name__.replace('_', ' ')}: {time.monotonic() - began:.0f} s")
            for name in STAGES:
                execute(f"DROP TABLE bench_{name}")
            execute(f"ANALYZE TABLE {', '.join(tables())}")
        self.check()

    def check(self, sample: int = 50) -> None:
        """Compare the rows of some people and posts with those that the site would make."""
        from accounts.models import User
        from accounts.naming import search as names
        from feeds.discovery.search import indexing
        from feeds.models import Post
        from interactions.models import Comment, Like, Subject
        from socialsite.core.search import postings

        for post in Post.objects.order_by("-position")[:sample]:
            if not indexing.is_right(post.pk):
                raise AssertionError(f"other terms than those of the site: post {post.pk}")
            subject = Subject.objects.get(subj_id=post.pk)
            found = (
                Like.objects.filter(subj_type=1, subj_id=post.pk).count(),
                Comment.objects.filter(subject=subject).count(),
            )
            if found != (subject.like_count, subject.comment_count):
                raise AssertionError(f"wrong counts: post {post.pk}")
        for user in User.objects.order_by("-pk")[:sample]:
            wanted = names.terms_of((user.username, user.nickname))
            place = names.place_of(user.pk).ts_ms
            if not postings.is_right(names.INDEX, user.pk, place, wanted):
                raise AssertionError(f"other terms than those of the site: person {user.pk}")

    # --- numbers of the shape -------------------------------------------------------------------
    def stage(self) -> None:
        """Store the numbers of the shape, from which all rows are made."""
        shape = self.shape
        execute("CREATE TABLE bench_follow (n INT PRIMARY KEY, actor INT, target INT)")
        follows = enumerate(zip(shape.actors, shape.targets, strict=True))
        _insert("bench_follow", (f"({n},{actor},{target})" for n, (actor, target) in follows))
        execute("ALTER TABLE bench_follow ADD UNIQUE (actor, target), ADD UNIQUE (target, actor)")
        execute("CREATE TABLE bench_writer (n INT PRIMARY KEY, author INT)")
        _insert("bench_writer", (f"({n},{one})" for n, one in enumerate(shape.writers)))
        execute(
            "CREATE TABLE bench_post (n INT PRIMARY KEY, author INT, tag INT, KEY (author))"
            f" SELECT n, author, IF({self.random(1)} < {TAGGED},"
            f" FLOOR(EXP({self.random(2)} * LN({TAGS}))), NULL) tag FROM bench_writer ORDER BY n"
        )

    def random(self, stream: int) -> str:
        """Return an expression for random numbers, the same ones in each run."""
        return f"RAND({self.seed * 1000 + stream})"

    # --- people ---------------------------------------------------------------------------------
    def add_people(self) -> None:
        """Add accounts whose names begin with random syllables."""
        from accounts.models import User

        quoted = ",".join(f"'{one}'" for one in SYLLABLES)

        def syllables(first: int, count: int) -> str:
            found = (
                f"ELT(1 + FLOOR({self.random(stream)} * {len(SYLLABLES)}), {quoted})"
                for stream in range(first, first + count)
            )
            return f"CONCAT({', '.join(found)})"

        execute(
            "CREATE TABLE bench_person (n INT PRIMARY KEY, name VARCHAR(16), nick VARCHAR(16))"
            f" SELECT seq n, CONCAT({syllables(10, 3)}, LOWER(CONV(seq, 10, 36))) name,"
            f" {syllables(20, 4)} nick FROM seq_0_to_{self.shape.people - 1}"
        )
        insert_from(
            User(password="!"),  # noqa: S106
            {
                "id": self.people.id_sql("n"),
                "username": "name",
                "username_key": "name",
                "nickname": "CONCAT(UCASE(LEFT(nick, 1)), SUBSTR(nick, 2))",
                "nickname_key": "nick",
                "created_at": f"FROM_UNIXTIME({self.people.sql('n')} / 1000)",
            },
            "bench_person ORDER BY n",
        )

    def add_names(self) -> None:
        """Add the index of the names."""
        from accounts.models import NameTerm, SearchedName

        letters = "0123456789abcdefghijklmnopqrstuvwxyz"
        execute(f"CREATE TABLE bench_pair (text CHAR(2) PRIMARY KEY, {_TERM}, KEY (number))")
        _insert("bench_pair", (f"('{a}{b}',{_term(a + b)})" for a in letters for b in letters))
        execute("CREATE TABLE bench_name (n INT, number BIGINT, PRIMARY KEY (n, number))")
        for first, last in ranges(self.shape.people):
            execute(
                f"{_IGNORING} INTO bench_name SELECT STRAIGHT_JOIN n, number FROM bench_person"
                " JOIN seq_1_to_20 JOIN bench_pair"
                " ON text = SUBSTR(CONCAT(name, ' ', nick), seq, 2)"
                f" WHERE n BETWEEN {first} AND {last}"
            )
        values = {"position": self.people.sql("n"), "object_id": self.people.id_sql("n")}
        insert_from(NameTerm(), {**values, "term": "number", "weight": "0"}, "bench_name")
        packed = "CONCAT(GROUP_CONCAT(le ORDER BY number SEPARATOR ''), REPEAT(x'0000', COUNT(*)))"
        insert_from(
            SearchedName(),
            {**values, "terms": packed},
            "bench_name JOIN bench_pair USING (number) GROUP BY n",
        )

    # --- relations ------------------------------------------------------------------------------
    def add_relations(self) -> None:
        """Add both rows of each pair, the counters and the log, in the order of the follows."""
        from relations.models import Relation, RelationLog, Relationship

        actor, target = self.people.id_sql("f.actor"), self.people.id_sql("f.target")
        since, back = self.follows.sql("f.n"), self.follows.sql("b.n")
        source = (
            "bench_follow f LEFT JOIN bench_follow b ON b.actor = f.target AND b.target = f.actor"
        )
        mutual, following, followed = (
            int(one) for one in (Relation.BI_FOLLOWING, Relation.FOLLOWING, Relation.FOLLOWED)
        )
        insert_from(
            Relationship(),
            {
                "from_user_id": "mine",
                "to_user_id": "theirs",
                "relation": "relation",
                "followed_at": "followed",
                "fan_since": "fan",
                "version": f"1 + (relation = {mutual})",
                "counted": f"ELT(1 + relation, 1, 2, 0, 0, {1 | 2 | 4})",
            },
            f"(SELECT f.n, {actor} mine, {target} theirs, {since} followed, {back} fan,"
            f" IF(b.n IS NULL, {following}, {mutual}) relation FROM {source}"
            f" UNION ALL SELECT f.n, {target}, {actor}, NULL, {since}, {followed} FROM {source}"
            " WHERE b.n IS NULL) pairs ORDER BY n",
        )
        people.count_all()
        insert_from(
            RelationLog(action="follow", after=following, version=1),
            {
                "id": self.follows.id_sql("f.n"),
                "actor_id": actor,
                "target_id": target,
                "at": since,
            },
            "bench_follow f",
        )

    # --- posts ----------------------------------------------------------------------------------
    def add_posts(self) -> None:
        """Add the index rows of posts, the summaries of their authors, and tags."""
        from feeds.models import AuthorHead, Post, PostTag, Tag

        author, position = self.people.id_sql("author"), self.posts.sql("n")
        ident = self.posts.id_sql("n")
        insert_from(Post(), {"id": ident, "author_id": author, "position": position}, "bench_post")
        insert_from(
            AuthorHead(),
            {
                "author_id": author,
                "last_position": self.posts.sql("MAX(n)"),
                "post_count": "COUNT(*)",
            },
            "bench_post GROUP BY author",
        )
        tag = {"id": f"{FIRST_TAG} + seq", "name": "CONCAT('tag', seq)"}
        insert_from(Tag(), tag, f"seq_1_to_{TAGS}")
        insert_from(
            PostTag(is_public=True),
            {
                "tag_id": f"{FIRST_TAG} + tag",
                "position": position,
                "post_id": ident,
                "author_id": author,
            },
            "bench_post WHERE tag IS NOT NULL",
        )

    def add_words(self) -> None:
        """Add the texts of posts, of 4 to 12 words by frequency (Zipf), and their index."""
        from feeds.models import PostContent, PostTerm, SearchedPost

        self._stage_words()
        ident, position = self.posts.id_sql("n"), self.posts.sql("n")
        text = "GROUP_CONCAT(text ORDER BY word SEPARATOR ' ')"
        insert_from(
            PostContent(),
            {
                "post_id": ident,
                "content": f"CONCAT({text}, IF(tag IS NULL, '', CONCAT(' #tag', tag)))",
            },
            "bench_post_word JOIN bench_word USING (word) JOIN bench_post USING (n) GROUP BY n",
        )
        # As `feeds.discovery.search.indexing.weight` for a word that a post has once.
        weight = "IF(counts, FLOOR(200 / (1 + (1 + terms / 30) / 2)), 0)"
        source = (
            "bench_post_word STRAIGHT_JOIN bench_length USING (n)"
            " STRAIGHT_JOIN bench_word USING (word)"
        )
        values = {"object_id": ident, "position": position}
        insert_from(PostTerm(), {**values, "term": "number", "weight": weight}, source)
        packed = (
            "CONCAT(GROUP_CONCAT(le ORDER BY number SEPARATOR ''),"
            f" GROUP_CONCAT(CHAR({weight}, 0) ORDER BY number SEPARATOR ''))"
        )
        insert_from(SearchedPost(), {**values, "terms": packed}, f"{source} GROUP BY n")

    def _stage_words(self) -> None:
        from feeds.discovery.search import indexing
        from socialsite.core.search import words

        execute(
            f"CREATE TABLE bench_word (word INT PRIMARY KEY, text VARCHAR(8), counts BOOL, {_TERM})"
        )
        known = enumerate(vocabulary(), 1)
        _insert("bench_word", (f"({word},'{text}',1,{_term(text)})" for word, text in known))
        _insert("bench_word", self._filters(indexing.of_author, words.number))
        execute("CREATE TABLE bench_post_word (n INT, word INT, PRIMARY KEY (n, word))")
        for part, (first, last) in enumerate(ranges(len(self.shape.writers))):
            word = f"FLOOR(EXP({self.random(100 + part)} * LN({WORDS})))"
            some = f"n BETWEEN {first} AND {last}"
            execute(
                f"{_IGNORING} INTO bench_post_word SELECT STRAIGHT_JOIN n, {word}"
                f" FROM bench_post JOIN seq_1_to_12 ON seq <= 4 + MOD(n * 7, 9) WHERE {some}"
                f" UNION ALL SELECT n, {FIRST_AUTHOR} + author FROM bench_post WHERE {some}"
                f" UNION ALL SELECT n, seq + tag FROM bench_post JOIN seq_{TAG_WORDS}_to_"
                f"{TAG_TERMS}_step_{TAG_TERMS - TAG_WORDS} WHERE {some} AND tag IS NOT NULL"
                " ORDER BY 1"
            )
        execute(
            "CREATE TABLE bench_length (n INT PRIMARY KEY, terms INT)"
            " SELECT n, SUM(counts) terms FROM bench_post_word JOIN bench_word USING (word)"
            " GROUP BY n"
        )

    def _filters(
        self, author_term: Callable[[int], int], term: Callable[[str], int]
    ) -> Iterator[str]:
        """Yield the rows of terms that are no words of the vocabulary: of tags and authors."""
        for tag in range(1, TAGS + 1):
            yield f"({TAG_WORDS + tag},NULL,1,{_term(f'tag{tag}')})"
            yield f"({TAG_TERMS + tag},NULL,0,{_packed(term(chr(0) + f'#tag{tag}'))})"
        for one in sorted(set(self.shape.writers)):
            number = author_term(self.people.ident(one))
            yield f"({FIRST_AUTHOR + one},NULL,0,{_packed(number)})"

    # --- readers --------------------------------------------------------------------------------
    def add_inboxes(self) -> None:
        """Add the inboxes of everybody who follows, as the fan-out leaves them."""
        from feeds.models import InboxEdge, InboxEntry, InboxState

        reader, author = self.people.id_sql("f.actor"), self.people.id_sql("f.target")
        insert_from(
            InboxEdge(backfilled_from=0), {"viewer_id": reader, "author_id": author}, _FOLLOWS
        )
        insert_from(InboxState(), {"viewer_id": reader}, f"{_FOLLOWS} GROUP BY f.actor")
        insert_from(
            InboxEntry(),
            {
                "user_id": reader,
                "publish_time": self.posts.sql("p.n"),
                "post_id": self.posts.id_sql("p.n"),
                "author_id": author,
            },
            _DELIVERED,
        )

    def add_likes(self) -> None:
        """Add likes of posts by followers of their authors."""
        from interactions.models import Like, SubjectType

        moment = self._after_post(4)
        insert_from(
            Like(subj_type=SubjectType.POST, thread=0),
            {
                "id": _id_of_moment(),
                "subj_id": self.posts.id_sql("n"),
                "user_id": self.people.id_sql("actor"),
                "created_at": "moment",
            },
            f"(SELECT p.n, f.actor, {moment} moment FROM {_DELIVERED}"
            f" WHERE {self.random(3)} < {LIKED} ORDER BY moment) likes",
        )

    def add_comments(self) -> None:
        """Add comments on posts by followers of their authors."""
        from interactions.models import Comment, CommentContent

        moment = self._after_post(6)
        insert_from(
            Comment(),
            {
                "id": _id_of_moment(),
                "subject_id": "n + 1",
                "author_id": self.people.id_sql("actor"),
                "position": "moment",
                "like_count": "liked",
            },
            f"(SELECT p.n, f.actor, {moment} moment, FLOOR(1 / (1.001 - {self.random(7)}))"
            f" liked FROM {_DELIVERED} WHERE {self.random(5)} < {COMMENTED} ORDER BY moment)"
            " comments",
        )
        insert_from(
            CommentContent(),
            {
                "comment_id": "id",
                "content": "CONCAT('A word on tea & rain, and on the river: ', position)",
            },
            "interactions_comment",
        )

    def add_subjects(self) -> None:
        """Add the counters of posts."""
        from interactions.models import Subject, SubjectType

        insert_from(
            Subject(subj_type=SubjectType.POST),
            {
                "id": "n + 1",
                "subj_id": self.posts.id_sql("n"),
                "like_count": "COALESCE(likes, 0)",
                "comment_count": "COALESCE(comments, 0)",
            },
            "bench_post LEFT JOIN (SELECT subj_id, COUNT(*) likes FROM interactions_like"
            f" GROUP BY subj_id) l ON l.subj_id = {self.posts.id_sql('n')} LEFT JOIN"
            " (SELECT subject_id, COUNT(*) comments FROM interactions_comment"
            " GROUP BY subject_id) c ON c.subject_id = n + 1",
        )

    def _after_post(self, stream: int) -> str:
        # As an integer, since an id does not fit into a floating-point number.
        later = f"CAST(FLOOR({self.random(stream)} * {DAY_MS}) AS INT)"
        return f"{self.posts.sql('p.n')} + {later}"


# Sorted building of an empty table loses all rows if some are repeated.
_IGNORING = "SET STATEMENT unique_checks = 1 FOR INSERT IGNORE"
_FOLLOWS = "bench_follow f"
_DELIVERED = "bench_follow f STRAIGHT_JOIN bench_post p ON p.author = f.target"
# A term: its number, and that number as the packed terms of an object have it.
_TERM = "number BIGINT, le BINARY(8)"


def _id_of_moment() -> str:
    """Return the id of a row by its column `moment` and a counter, which starts anew."""
    execute("SET @n = 0")
    low = 1 << core_ids.LOW_BITS
    return f"(moment - {core_ids.EPOCH_MS}) * {low} + MOD(CAST(@n := @n + 1 AS INT), {low})"


def _term(text: str) -> str:
    from socialsite.core.search import words

    return _packed(words.number(text))


def _packed(number: int) -> str:
    return f"{number},x'{number.to_bytes(8, 'little').hex()}'"


def vocabulary() -> list[str]:
    """Return words, the most frequent one first: none is the plural of another."""
    count = len(SYLLABLES)
    numbers = ((number * 7919) % count**3 for number in range(1, WORDS + 1))
    return [
        f"{SYLLABLES[one // count**2]}{SYLLABLES[one // count % count]}{SYLLABLES[one % count]}n"
        for one in numbers
    ]


def _insert(table: str, rows: Iterable[str]) -> None:
    rest = iter(rows)
    while part := list(islice(rest, BATCH)):
        execute(f"INSERT INTO {table} VALUES {','.join(part)}")


def insert_from(sample: Any, values: dict[str, str], source: str) -> None:
    """Insert rows by a query: some columns are expressions, the others are those of a sample."""
    from django.db import connection

    fields = type(sample)._meta.concrete_fields
    fixed = [field for field in fields if field.column not in values]
    params = [
        field.get_db_prep_save(field.pre_save(sample, add=True), connection) for field in fixed
    ]
    columns = ", ".join(f"`{one}`" for one in [*values, *(field.column for field in fixed)])
    found = ", ".join([*values.values(), *["%s"] * len(fixed)])
    sql = f"INSERT INTO {type(sample)._meta.db_table} ({columns}) SELECT {found} FROM {source}"
    execute(sql, *params)


def ranges(count: int, size: int = 50_000) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each part."""
    for first in range(0, count, size):
        yield first, min(first + size, count) - 1


# --- databases ----------------------------------------------------------------------------------
@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Give MariaDB more memory within the block, and build tables and their indexes sorted."""
    before = {name: variable(name) for name in LOADING}
    for name, value in LOADING.items():
        set_global(name, max(value, before[name]))
    # An empty table is filled without undo log, and its indexes are sorted.
    execute("SET unique_checks = 0, foreign_key_checks = 0, sort_buffer_size = 67108864")
    try:
        yield
    finally:
        execute("SET unique_checks = 1, foreign_key_checks = 1")
        for name, value in before.items():
            set_global(name, value)


def variable(name: str) -> int:
    """Return a variable of the server."""
    return int(one(f"SELECT @@GLOBAL.{name}"))


def set_global(name: str, value: int) -> None:
    """Set a variable of the server, and wait until it has that value."""
    execute(f"SET GLOBAL {name} = {value}")
    while variable(name) != value:
        time.sleep(0.1)


def one(sql: str) -> Any:
    """Return the only value of a query."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def tables() -> list[str]:
    """Return the tables of the current database."""
    from django.db import connection

    return sorted(connection.introspection.table_names())


def create(name: str) -> None:
    """Create a database with the empty tables of the current one, and use it from now on."""
    from django.db import connection

    original, copied = connection.settings_dict["NAME"], tables()
    execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    for table in copied:
        execute(f"CREATE TABLE {name}.{table} LIKE {original}.{table}")
    use(name)


def use(name: str) -> None:
    """Use another database from now on, with empty caches."""
    from django.db import connection

    from socialsite.core import redis

    connection.close()
    connection.settings_dict["NAME"] = name
    redis.call(lambda client: client.flushdb())


def read_all() -> None:
    """Read all tables and indexes into the memory of MariaDB."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name, index_name FROM information_schema.statistics"
            " WHERE table_schema = DATABASE()"
        )
        indexes = cursor.fetchall()
    for table, index in indexes:
        execute(f"SELECT COUNT(*) FROM {table} FORCE INDEX (`{index}`)")


def sizes() -> list[tuple[str, int, int]]:
    """Return the tables with rows: their names, rows and bytes with all indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT s.name, t.table_rows, s.file_size"
            " FROM information_schema.innodb_sys_tablespaces s JOIN information_schema.tables t"
            " ON s.name = CONCAT(t.table_schema, '/', t.table_name)"
            " WHERE t.table_schema = DATABASE() ORDER BY s.file_size DESC"
        )
        found = cursor.fetchall()
    count = partial(_count)
    named = [(name.partition("/")[2], size) for name, _, size in found]
    return [(name, rows, size) for name, size in named if (rows := count(name))]


def _count(table: str) -> int:
    return int(one(f"SELECT COUNT(*) FROM {table}"))
