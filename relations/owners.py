"""The places of the tables of relations: each person's side of a pair lies with that person."""

from socialsite.core.sharding import Owned, Places, Whole

PLACES: Places = {
    # Both lists of a person, their blocks and their fan-out read the side of `from_user` only.
    "relations_relationship": Owned("from_user_id"),
    "relations_relationcount": Owned("user_id"),
    "relations_relationlog": Owned("actor_id", reason="written beside the row of who acts"),
    "relations_suggestionlist": Owned("user_id"),
    "relations_dismissal": Owned("user_id"),
    "relations_countcheck": Whole("The results of a nightly check."),
}
