"""A thread of the campaign: its connection, and the checks of each response."""

from chaos.campaign.journal import Journal
from chaos.campaign.site.people import Guest, Person, wire_to
from chaos.campaign.site.requests import Answer, Request
from chaos.campaign.site.sites import Site


class Client:
    """Sends requests of people and checks each response; for one thread."""

    def __init__(self, site: Site, journal: Journal, part: str) -> None:
        self.site, self.journal, self.part = site, journal, part
        self.wire = wire_to(site)
        self.guest = Guest(site)

    def send(self, request: Request, person: Person | None = None) -> Answer:
        """Send as a person, renew an expired session once, and check the response."""
        person = person or self.guest
        request = request.replace(who=person.who)
        with self.journal.turn() as before:
            answer = self._ask(request, person)
            browser = not request.path.startswith("/api/")
            if self._is_over(request, answer) and person.renew(self.wire, browser=browser):
                answer = self._ask(request, person)
        self.journal.note(self.part, request, answer)

        def again(other: Request) -> Answer:
            return self.wire.send(other, person.headers(other))

        self.journal.judge(self.part, request, answer, again)
        self.journal.judge_time(self.part, request, answer, before, again)
        self.journal.judge_secrets(self.part, request, answer, person.id)
        return answer

    def _ask(self, request: Request, person: Person) -> Answer:
        answer = self.wire.send(request, person.headers(request))
        if not request.path.startswith("/api/"):
            person.keep_cookies(answer)
        return answer

    @staticmethod
    def _is_over(request: Request, answer: Answer) -> bool:
        """Return True if the sender's session has expired and is not hostile itself."""
        if {"Authorization", "Cookie"} & set(request.headers):
            return False
        # The admin redirects signed-in users without staff rights to its own log-in page.
        is_login = answer.is_login and answer.header("Location").startswith("/login")
        return answer.status == 401 or is_login
