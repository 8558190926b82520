"""The people of the fuzz: one team a thread, of members, staff, and people blocked and banned."""

import random
import threading
import time
from collections.abc import Callable

from chaos.campaign.client import Client
from chaos.campaign.fuzz import schema
from chaos.campaign.fuzz.api import ApiFuzz
from chaos.campaign.fuzz.forms import FormFuzz
from chaos.campaign.fuzz.hostile_values import Dice
from chaos.campaign.fuzz.valid_values import Known, Values
from chaos.campaign.journal import Journal
from chaos.campaign.matrix.world import eventually
from chaos.campaign.site.people import Guest, Person, make_people, staff_named
from chaos.campaign.site.requests import Wire
from chaos.campaign.site.sites import Site, Staff

PART = "fuzz"
PAGES_SHARE = 0.4
WEIGHTS = {
    "member": 6.0,
    "moderator": 1.5,
    "admin": 1.5,
    "blocked": 1.0,
    "banned": 0.2,
    "guest": 0.3,
}
CANARY = "zqkeeper"


def staff(threads: int) -> list[Staff]:
    """Return the staff of all threads, who must exist before the site starts."""
    names = {f"fuzzmod{number}": "moderator" for number in range(threads)}
    return staff_named(names | {f"fuzzadm{number}": "admin" for number in range(threads)})


class Crowd:
    """The people of all threads, and two others: a target of actions, and an owner of a secret."""

    def __init__(self, site: Site, journal: Journal, wire: Wire, threads: int) -> None:
        self.site, self.journal, self.wire = site, journal, wire
        self.known = Known()
        self.victims = [*make_people(site, wire, *(f"victim{n}" for n in range(3))).values()]
        keeper = make_people(site, wire, "keeper00")["keeper00"]
        self.teams = [self._team(number) for number in range(threads)]
        everybody = [person for team in self.teams for person in team if person.id]
        self.protected = {keeper.id, *(person.id for person in everybody)}
        self._keep_a_secret(keeper, everybody)
        for person in (*self.victims, *everybody):
            if person.role != "banned":
                for _ in range(3):
                    made = person.must(wire, "POST", "posts", {"content": f"by {person.nickname}"})
                    self.known.learn(made, person)
                self.known.learn(person.must(wire, "GET", "users/me"), person)

    def _team(self, number: int) -> list[Person]:
        names = [f"fuzz{kind}{number}" for kind in ("mem", "two", "mod", "adm", "blk", "ban")]
        made = make_people(self.site, self.wire, *names)
        member, second, moderator, admin, blocked, banned = made.values()
        for victim in self.victims:
            victim.must(self.wire, "POST", f"users/{blocked.id}/block")
        chosen = (("action", "ban"), ("_selected_action", banned.id), ("post", "yes"))
        admin.page(self.wire, "POST", "/admin/accounts/user/", *chosen, ("confirmed", "1"))
        blocked.role, banned.role = "blocked", "banned"
        team = [member, second, moderator, admin, blocked, banned, Guest(self.site)]
        for person in team:
            person.weight = WEIGHTS[person.role]
        return team

    def _keep_a_secret(self, keeper: Person, everybody: list[Person]) -> None:
        """Let somebody who blocks the teams write a text that they may not see."""
        for person in everybody:
            keeper.must(self.wire, "POST", f"users/{person.id}/block")
        said = {"content": f"{CANARY} post", "visibility": "followers"}
        self.known.learn(keeper.must(self.wire, "POST", "posts", said), keeper)
        may = {keeper.id, *(p.id for p in everybody if p.role in ("moderator", "admin"))}
        self.journal.secrets[CANARY] = may

    def run(self, requests: int, seconds: float, seed: int, on_part: Callable[[int], None]) -> None:
        """Fuzz with one thread a team, up to a number of requests or seconds."""
        document = schema.document(self.wire)
        some_json = schema.any_json(seed) if requests >= 2000 else ()
        before, deadline = self.journal.counts["tried"], time.monotonic() + seconds
        errors: list[BaseException] = []

        def work(number: int) -> None:
            team = self.teams[number]
            dice = Dice(f"{seed} {number}")
            dice.any_json = some_json
            client = Client(self.site, self.journal, PART)
            values = Values(self.known, dice)
            values.numbers = number * 10**6
            parts = (
                FormFuzz(client, team, values, self.protected),
                ApiFuzz(client, document, team, values),
            )
            choose = random.Random(f"{seed} part {number}")
            try:
                while True:
                    done = self.journal.counts["tried"] - before
                    if done >= requests or time.monotonic() > deadline or errors:
                        return
                    on_part(done)
                    parts[choose.random() > PAGES_SHARE].step()
            except BaseException as error:
                errors.append(error)
                raise

        threads = [
            threading.Thread(target=work, args=(number,), daemon=True)
            for number in range(len(self.teams))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]


__all__ = ["PART", "Crowd", "eventually", "staff"]
