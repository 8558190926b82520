"""The environment: valid values are read, invalid ones stop the start with a readable line."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.runtime import keys, vapid
from socialsite.env import Env, load

pytestmark = pytest.mark.once

SECRET = keys.new("secret")
FULL = {
    "DATABASE_URL": "mysql://u:p@127.0.0.1:3306/site",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}


@pytest.fixture
def read(monkeypatch, tmp_path):
    """Return a function that loads exactly these variables."""
    variables = {row.variable for row in budgets.TABLE.values()}
    for name in {*Env.model_fields, *variables}:
        monkeypatch.delenv(name, raising=False)

    def run(**values: str) -> Env:
        for name, value in ({"DATA_DIR": str(tmp_path)} | values).items():
            monkeypatch.setenv(name, value)
        return load()

    return run


def test_nothing_set_is_the_embedded_mode_with_its_own_keys(read, tmp_path) -> None:
    env = read()
    assert env.embedded
    assert env.site_url == "http://127.0.0.1:8000"
    assert len(env.SECRET_KEY) >= 50
    assert len(env.JWT_KEYS[0]) >= 32
    assert env.JWT_KEYS[0] != env.SECRET_KEY
    kept = tmp_path / "keys.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert read().SECRET_KEY == env.SECRET_KEY == json.loads(kept.read_text())["SECRET_KEY"]


def test_the_address_of_the_change_stream_is_read_and_prints_no_password(read) -> None:
    assert read(**FULL).event_stream is None
    address = read(**FULL, EVENT_STREAM_URL="amqps://me:s%40crt@mq/a%2Fb?name=one").event_stream
    assert address is not None
    assert (address.host, address.port, address.place) == ("mq", 5671, "a/b")
    assert (address.user, address.password, address.name) == ("me", "s@crt", "one")
    assert "crt" not in repr(address)
    other = read(**FULL, EVENT_STREAM_URL="redis://127.0.0.1:7000").event_stream
    assert other is not None
    assert (other.place, other.name, other.has_publisher) == ("0", "socialsite-events", True)


def test_a_site_without_a_metrics_token_generates_and_stores_one(read, tmp_path) -> None:
    own = {"SECRET_KEY": "s" * 50, "JWT_KEYS": keys.new("secret")}
    env = read(**FULL, SITE_URL="https://site.example", **own)
    kept = tmp_path / "keys.json"
    assert len(env.METRICS_TOKEN) >= 50
    assert json.loads(kept.read_text()) == {"METRICS_TOKEN": env.METRICS_TOKEN}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert read().METRICS_TOKEN == env.METRICS_TOKEN
    assert read(METRICS_TOKEN="a.metrics.token").METRICS_TOKEN == "a.metrics.token"
    assert env.METRICS_TOKEN not in (env.SECRET_KEY, *env.JWT_KEYS)


def test_keys_of_an_older_version_stay_and_missing_ones_are_added(read, tmp_path) -> None:
    old = {"SECRET_KEY": "s" * 64, "JWT_KEY": keys.new("secret")}
    (tmp_path / "keys.json").write_text(json.dumps(old))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read(), range(16)))
    made = {(env.METRICS_TOKEN, env.VAPID_PRIVATE_KEY) for env in found}
    assert len(made) == 1
    token, key = made.pop()
    kept = json.loads((tmp_path / "keys.json").read_text())
    assert kept == old | {"METRICS_TOKEN": token, "VAPID_PRIVATE_KEY": key}
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("keys*")] == ["keys.json"]


def test_a_start_that_cannot_store_keys_ends_with_a_readable_line(read, tmp_path) -> None:
    (tmp_path / "keys.json").mkdir()
    with pytest.raises(SystemExit) as caught:
        read()
    assert "DATA_DIR: keys.json cannot be" in str(caught.value)


@pytest.mark.django_db
def test_a_command_prints_the_token_of_metrics(capsys, settings) -> None:
    call_command("metrics_token")
    assert capsys.readouterr().out == f"{settings.METRICS_TOKEN}\n"


def test_both_addresses_are_the_full_stack(read) -> None:
    secrets = {"SECRET_KEY": "s" * 50, "JWT_KEYS": keys.new("secret")}
    env = read(**FULL, SITE_URL="https://site.example/", **secrets)
    assert not env.embedded
    assert env.https
    assert env.site_url == "https://site.example"


def test_lists_are_separated_by_commas(read) -> None:
    texts = [keys.new("secret"), keys.new("ed25519")]
    env = read(ALLOWED_HOSTS="a.example, b.example,", JWT_KEYS=", ".join(texts) + ",")
    assert env.ALLOWED_HOSTS == ["a.example", "b.example"]
    assert [text.replace("\\n", "\n") for text in texts] == env.JWT_KEYS


def test_services_have_a_name_or_none(read) -> None:
    found = read(SERVICE_KEYS=f"shop:{SECRET}, {SECRET}x").services
    assert found == [("shop", SECRET), ("", f"{SECRET}x")]
    assert len({service.owner for service in found}) == 2


def test_an_empty_value_is_as_good_as_none(read) -> None:
    assert read(PORT="", DATABASE_URL="", DEMO="").PORT == 8000


def test_several_servers_of_a_broker_have_the_account_and_the_path_of_the_first(read) -> None:
    env = read(**FULL, BROKER_URL="amqp://me:s%3Bt@a:1/site; amqp://b ;amqp://me:s%3Bt@c:3/site")
    assert (
        env.BROKER_URL == "amqp://me:s%3Bt@a:1/site;amqp://me:s%3Bt@b/site;amqp://me:s%3Bt@c:3/site"
    )
    assert env.has_quorum_queues


def test_a_broker_of_one_server_stays_as_it_was(read) -> None:
    for url in ("amqp://me:secret@a:5672/site?ssl=1", "sqs://", "redis://:p@a/3", ""):
        env = read(**FULL, BROKER_URL=url)
        assert url == env.BROKER_URL
        assert not env.has_quorum_queues
        assert set(env.broker_options) == {
            *("socket_timeout", "socket_connect_timeout", "socket_keepalive", "ack_emulation")
        }


def test_sentinels_get_the_name_of_the_master_and_their_own_password(read) -> None:
    env = read(
        **FULL,
        BROKER_URL="sentinel://:of-redis@a;sentinel://b;sentinel://c",
        BROKER_SENTINEL_MASTER="tasks",
        BROKER_SENTINEL_PASSWORD="of-sentinel",
    )
    assert env.BROKER_URL == "sentinel://:of-redis@a;sentinel://:of-redis@b;sentinel://:of-redis@c"
    assert env.broker_options["master_name"] == "tasks"
    assert env.broker_options["sentinel_kwargs"]["password"] == "of-sentinel"
    assert not env.has_quorum_queues


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"PORT": "http"}, "PORT: "),
        ({"PORT": "70000"}, "PORT: "),
        ({"DEMO": "perhaps"}, "DEMO: "),
        ({"LANGUAGE": "fr"}, "LANGUAGE: "),
        ({"FOLLOW_LIMIT": "0"}, "FOLLOW_LIMIT: "),
        ({"ACCESS_MINUTES": "1.5"}, "ACCESS_MINUTES: "),
        ({"JWT_KEYS": "short"}, "JWT_KEYS: key 1 is too short"),
        ({"JWT_KEYS": SECRET, "SECRET_KEY": SECRET}, "JWT_KEYS: SECRET_KEY must not be one"),
        ({"JWT_KEYS": SECRET, "SECRET_KEY_FALLBACKS": SECRET}, "JWT_KEYS: SECRET_KEY must not be"),
        ({"SERVICE_KEYS": "short"}, "SERVICE_KEYS: key 1 is too short, it needs 32 characters"),
        ({"SERVICE_KEYS": f"{SECRET},a:{SECRET}"}, "SERVICE_KEYS: key 2 has the key or the name"),
        ({"SERVICE_KEYS": f"a:{SECRET},a:{SECRET}x"}, "SERVICE_KEYS: key 2 has the key or the"),
        (
            {"SERVICE_KEYS": f"a b:{SECRET}"},
            "SERVICE_KEYS: the name of key 1 has invalid characters",
        ),
        ({"SERVICE_KEYS": f"a:é{SECRET}"}, "SERVICE_KEYS: key 1 has invalid characters"),
        ({"SERVICE_KEYS": SECRET, "JWT_KEYS": SECRET}, "SERVICE_KEYS: a key of the site is one"),
        ({"SITE_URL": "site.example"}, "SITE_URL: must start with http:// or https://"),
        ({"DATABASE_URL": "postgres://x"}, "DATABASE_URL: "),
        ({"REDIS_URL": "memcached://x"}, "REDIS_URL: "),
        ({"DATABASE_URL": FULL["DATABASE_URL"]}, "DATABASE_URL and REDIS_URL go together"),
        ({"REDIS_URL": FULL["REDIS_URL"]}, "DATABASE_URL and REDIS_URL go together"),
        ({"FILES_GROUP": "no-such-group"}, "FILES_GROUP: there is no group of this name"),
        ({"SECURITY_CONTACT": "security@social.example"}, "SECURITY_CONTACT: must be one address"),
        ({"SECURITY_CONTACT": "mailto:a@b.example\nX: y"}, "SECURITY_CONTACT: must be one"),
        ({"METRICS_TOKEN": "short"}, "METRICS_TOKEN: must have at least 8"),
        ({"METRICS_TOKEN": "with a blank"}, "METRICS_TOKEN: must have at least 8"),
        ({"METRICS_TOKEN": "näh-gibts-nicht"}, "METRICS_TOKEN: must have at least 8"),
        ({"BROKER_URL": "redis://127.0.0.1"}, "BROKER_URL needs"),
        (FULL | {"REDIS_URL": "unix:///run/redis.sock"}, "BROKER_URL is needed"),
        (FULL | {"REDIS_URL": "redis+cluster://h:1,i:2"}, "BROKER_URL is needed"),
        (FULL | {"REDIS_URL": "redis+cluster://h:1,i"}, "REDIS_URL: 'i' is no host:port"),
        (FULL | {"REDIS_URL": "redis+cluster://h:1,i:x"}, "REDIS_URL: "),
        (FULL | {"REDIS_URL": "redis+cluster://"}, "REDIS_URL: '' is no host:port"),
        (FULL | {"REDIS_URL": "redis+cluster://h:1/0"}, "REDIS_URL: a cluster has no databases"),
        (FULL | {"REDIS_URL": "redis+cluster://pw@h:1"}, "REDIS_URL: the password stands behind"),
        (FULL | {"REDIS_URL": "redis+sentinel://h:1"}, "REDIS_URL: the name of the master"),
        (FULL | {"BROKER_URL": "amqp://a;amqp://b"}, "BROKER_URL: must name one server of Rabbit"),
        (FULL | {"BROKER_URL": "amqp://a;;amqp://b;amqp://c"}, "BROKER_URL: has an empty address"),
        (FULL | {"BROKER_URL": "amqp://a;redis://b;amqp://c"}, "BROKER_URL: several addresses"),
        (FULL | {"BROKER_URL": "redis://a;redis://b"}, "BROKER_URL: several addresses must all"),
        (FULL | {"BROKER_URL": "amqp://a;amqp://b;amqp://a"}, "BROKER_URL: no server may be there"),
        (FULL | {"BROKER_URL": "amqp://a/x;amqp://b/y;amqp://c/x"}, "the same account and the"),
        (FULL | {"BROKER_URL": "amqp://u:p@a;amqp://u:q@b;amqp://c"}, "the same account and the"),
        (FULL | {"BROKER_URL": "sentinel://a/?x=1"}, "BROKER_URL: each address must have a host"),
        (FULL | {"BROKER_URL": "amqp://a;amqp://b;amqp://c:port"}, "BROKER_URL: "),
        ({"EVENT_STREAM_URL": "redis://127.0.0.1:7000"}, "EVENT_STREAM_URL needs"),
        (FULL | {"EVENT_STREAM_URL": "redis://127.0.0.1/5"}, "another Redis than REDIS_URL"),
        (FULL | {"EVENT_STREAM_URL": "kafka://k:9092"}, "EVENT_STREAM_URL: must be redis://"),
        (FULL | {"EVENT_STREAM_URL": "amqp:///events"}, "EVENT_STREAM_URL: must be redis://"),
        (FULL | {"EVENT_STREAM_URL": "binlog:all"}, "EVENT_STREAM_URL: must be redis://"),
        (FULL | {"EVENT_STREAM_URL": "amqp://h:x/"}, "EVENT_STREAM_URL: "),
        (FULL | {"EVENT_STREAM_URL": "redis://h:7000/one"}, "EVENT_STREAM_URL: the path must be"),
        (FULL | {"EVENT_STREAM_URL": "redis://h:7000?db=3"}, "EVENT_STREAM_URL: after ? only"),
        (FULL | {"EVENT_STREAM_URL": "redis://h:7000?name=A b"}, "EVENT_STREAM_URL: after ? only"),
        ({"REPLICA_URLS": "mysql://u:p@h/d"}, "REPLICA_URLS needs"),
        (FULL | {"REPLICA_URLS": "postgres://h/d"}, "REPLICA_URLS: each must start with mysql://"),
        (FULL | {"REPLICA_URLS": "mysql://h/d,mysql://h/d"}, "no replica may be there twice"),
        (FULL | {"REPLICA_URLS": FULL["DATABASE_URL"]}, "REPLICA_URLS must not have DATABASE_URL"),
        (FULL | {"EVENT_STREAM_HOURS": "1"}, "EVENT_STREAM_HOURS: "),
        ({"PUSH_ALL_MAX": "10", "PUSH_ACTIVE_MAX": "9"}, "PUSH_ACTIVE_MAX must not be below"),
        (FULL | {"SITE_URL": "https://x.example"}, "SECRET_KEY and JWT_KEYS must be set"),
    ],
)
def test_a_bad_value_ends_the_start_with_a_readable_line(read, values, said) -> None:
    with pytest.raises(SystemExit) as caught:
        read(**values)
    first, *lines = str(caught.value).splitlines()
    assert first == "Bad configuration:"
    assert len(lines) == 1
    assert said in lines[0]
    assert SECRET not in lines[0]


def test_every_mistake_has_its_line(read) -> None:
    with pytest.raises(SystemExit) as caught:
        read(PORT="x", LANGUAGE="fr")
    assert len(str(caught.value).splitlines()) == 3


def test_a_site_with_https_gets_demo_data_only_on_request(read) -> None:
    assert read().DEMO is True
    assert read(SITE_URL="https://example.org").DEMO is False
    assert read(SITE_URL="https://example.org", DEMO="1").DEMO is True


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ({}, Rate(20, 60)),
        ({"BUDGET_SIGN_UP": "5/7"}, Rate(5, 7)),
        ({"BUDGET_SIGN_UP": " 5/0.5 "}, Rate(5, 0.5)),
        ({"BUDGET_SIGN_UP": "0"}, None),
        ({"BUDGET_SIGN_UP": ""}, Rate(20, 60)),
        ({"BUDGETS": "0"}, None),
        ({"BUDGETS": "0", "BUDGET_SIGN_UP": "5/7"}, Rate(5, 7)),
    ],
)
def test_a_budget_is_changed_by_its_name_and_lifted_by_0(read, values, rate) -> None:
    env = read(**values)
    assert env.rates["sign_up"] == rate
    assert set(env.rates) == set(budgets.TABLE)
    assert env.rates["login_here"] == Rate(5, 5)  # guessing stays limited


def test_a_budget_that_is_a_number_at_any_one_time_is_changed_by_a_number(read) -> None:
    assert read(BUDGET_SOCKETS="3").rates["sockets"] == Rate(3, 0)
    assert read(BUDGET_SOCKETS="0").rates["sockets"] is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *(
            ("BUDGET_SIGN_UP", value, "must be capacity/refilled an hour, such as 20/60, or 0")
            for value in (
                "20",
                "0/60",
                "20/0",
                "-1/60",
                "20/60/1",
                "x",
                "1e3/5",
                "٣/٣",
                "9999999/1",
            )
        ),
        ("BUDGET_SOCKETS", "20/60", "must be a number from 1 to"),
        ("BUDGET_SIGNUP", "20/60", "there is no such budget, see docs/abuse.md"),
        ("budget_sign_up", "20/60", "there is no such budget"),
        ("BUDGETS", "20/60", "should be a valid boolean"),
    ],
)
def test_a_bad_budget_ends_the_start_with_a_readable_line(read, name, value, said) -> None:
    with pytest.raises(SystemExit) as caught:
        read(**{name: value})
    (line,) = str(caught.value).splitlines()[1:]
    assert line.startswith(f"  {name}: ")
    assert said in line


def test_a_bad_budget_is_reported_with_other_mistakes(read) -> None:
    with pytest.raises(SystemExit) as caught:
        read(PORT="x", BUDGET_SIGN_UP="x", BUDGET_X="0")
    assert len(str(caught.value).splitlines()) == 4


def test_the_embedded_mode_makes_a_key_of_pushes_and_the_full_stack_needs_one(
    read, tmp_path
) -> None:
    env = read()
    assert vapid.read(env.VAPID_PRIVATE_KEY) == env.VAPID_PRIVATE_KEY
    assert read().VAPID_PRIVATE_KEY == env.VAPID_PRIVATE_KEY
    # Also with the file of an embedded mode: machines of one site would have different keys.
    assert read(**FULL).VAPID_PRIVATE_KEY == ""
    own = vapid.new()
    assert own == read(**FULL, VAPID_PRIVATE_KEY=own).VAPID_PRIVATE_KEY


@pytest.mark.parametrize(
    ("values", "subject"),
    [
        ({}, "mailto:noreply@127.0.0.1"),
        ({"SITE_URL": "https://site.example"}, "https://site.example"),
        ({"SECURITY_CONTACT": "mailto:a@b.example"}, "mailto:a@b.example"),
        (
            {"SECURITY_CONTACT": "mailto:a@b.example", "VAPID_SUBJECT": "mailto:c@d.example"},
            "mailto:c@d.example",
        ),
    ],
)
def test_push_services_get_a_contact(read, values, subject) -> None:
    assert read(**values).vapid_subject == subject


@pytest.mark.parametrize("values", [{"VAPID_PRIVATE_KEY": "short"}, {"VAPID_SUBJECT": "somebody"}])
def test_a_wrong_setting_of_pushes_stops_the_start(read, values) -> None:
    (name,) = values
    with pytest.raises(SystemExit, match=name):
        read(**values)


def test_make_key_prints_a_key_of_pushes(capsys) -> None:
    call_command("make_key", kind="vapid")
    text = capsys.readouterr().out.strip()
    assert vapid.read(text) == text


def test_a_site_that_would_accept_no_request_is_refused(settings) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://social.example:8443", ["other.example"]
    with pytest.raises(CommandError, match="of SITE_URL is missing"):
        call_command("check_settings")
    settings.ALLOWED_HOSTS = [".example"]
    call_command("check_settings")


def test_a_misspelt_setting_is_named_with_the_right_one(capsys) -> None:
    known = ("SITE_NAME", "BUDGET_SIGN_UP", "OTEL_TRACES_SAMPLER", "TZ")
    call_command("check_settings", *known, "SITE_NMAE", "site_url", "FROBNICATE")
    assert capsys.readouterr().out.splitlines() == [
        "SITE_NMAE is no setting of the site, and changes nothing; did you mean SITE_NAME?",
        "site_url is no setting of the site, and changes nothing; did you mean SITE_URL?",
        "FROBNICATE is no setting of the site, and changes nothing",
    ]
