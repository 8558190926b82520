"""What accounts does when it, or a lower app, told a fact."""

from accounts import actions
from accounts.events import TokensRevoked
from socialsite.core.registry import on


@on(TokensRevoked, after=True)
def announce_again(event: TokensRevoked) -> None:
    """Repeat what follows the commit of a revocation: that process may have died in between."""
    actions.announce(event)
