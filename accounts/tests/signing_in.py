"""Sign-in by password in one step, as the pages do it in two."""

from accounts import actions
from accounts.models import User
from accounts.tokens import TokenPair


def login(
    username: str, password: str, client: str = "other", user_agent: str = "", address: str = ""
) -> tuple[User, TokenPair]:
    """Sign in by password alone. Raises the errors of `check_password`."""
    user = actions.check_password(username, password)
    shown = actions.Shown(user.password, code=False)
    return user, actions.sign_in(user, client, user_agent, address, shown)
