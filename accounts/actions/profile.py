"""Changes of one's own profile."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from accounts import cache, profile_rules, queries, validators
from accounts.events import ProfileChanged
from accounts.models import User
from accounts.naming import name_rules
from accounts.naming import search as name_search
from socialsite.core import db
from socialsite.core.errors import InvalidInput
from socialsite.core.events import publish
from socialsite.core.media import pictures, video_links
from socialsite.core.models import Media
from socialsite.core.text import clean


class _Picture(NamedTuple):
    """The column of a picture of the profile, and which of its files is shown there."""

    column: str
    file: str


# An avatar is small, so its thumbnail is shown.
_PICTURES = {
    "avatar": _Picture("avatar_name", "thumb_name"),
    "banner": _Picture("banner_name", "name"),
}


def check_profile(user: User, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that these fields of a profile set, pictures left out.

    Raises RegMatchError for the nickname, InvalidInput for the other fields. A caller that stores
    pictures for the same change calls this first, so that no picture is stored for nothing.
    """
    columns = {name: value for name, value in given.items() if name not in _PICTURES}
    if "nickname" in columns:
        nickname = _nickname(user, columns["nickname"])
        columns |= {"nickname": nickname, "nickname_key": name_search.key_of(nickname)}
    if "bio" in columns:
        columns["bio"] = clean(columns["bio"])
    if "links" in columns:
        columns["links"] = [video_links.normal(link) for link in columns["links"]]
    for name in ("place", "pronouns"):
        if name in columns:
            columns[name] = profile_rules.one_line(columns[name])
    mistakes = {
        name: rule(columns[name]) for name, rule in profile_rules.PROFILE.items() if name in columns
    }
    if fields := {name: texts for name, texts in mistakes.items() if texts}:
        raise InvalidInput(fields=fields)
    return columns


def _nickname(user: User, value: str) -> str:
    """Return a new nickname as it is stored; raises RegMatchError.

    A name that stays is not checked, as it may be older than the rule.
    """
    nickname = name_rules.normal_nickname(value)
    if nickname != user.nickname:
        wrong = name_rules.nickname(nickname)
        if not wrong and not user.is_staff:
            wrong = name_rules.like_staff(nickname, queries.staff_names())
        validators.check(nickname=wrong)
    return nickname


@db.atomic
def edit_profile(user: User, **given: Any) -> User:
    """Change the given fields of a profile and publish ProfileChanged.

    The fields are nickname, bio, links (addresses), place, pronouns, language, likes_shown, and
    avatar and banner: the id of a picture of the person, or 0. Raises what `check_profile` raises.
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    columns = check_profile(row, given)
    for name in _PICTURES:
        if name in given:
            columns[_PICTURES[name].column] = _picture(row, name, given[name])
    changed = [name for name, value in columns.items() if getattr(row, name) != value]
    if not changed:
        return row
    old = {getattr(row, one.column) for one in _PICTURES.values()}
    for name in changed:
        setattr(row, name, columns[name])
    row.save(update_fields=changed)
    gone = old - {getattr(row, one.column) for one in _PICTURES.values()}
    if gone:
        pictures.release(row.pk, file_names=gone)
    publish(ProfileChanged(row.pk))
    cache.card_changed(row.pk)
    return row


def _picture(user: User, name: str, media_id: int) -> str:
    """Return the name of the file to show; marks the picture as used."""
    if not media_id:
        return ""
    try:
        picture: Media = pictures.by_ids(user.pk, [media_id])[0]
        pictures.use(user.pk, [media_id])
    except InvalidInput as error:
        texts = [text for part in (error.fields or {}).values() for text in part]
        raise InvalidInput(fields={name: texts}) from None
    return str(getattr(picture, _PICTURES[name].file))


def set_preferences(user: User, **given: bool | None) -> None:
    """Change some of `queries.preferences`."""
    if given:
        User.objects.filter(pk=user.pk).update(**given)


def end_first_steps(user: User) -> None:
    """Do not show the first steps to this person any more."""
    User.objects.filter(pk=user.pk).update(first_steps=False)
