"""API shapes of accounts. Responses are plain dicts; the output serializers are their schema.

Names and passwords are not trimmed: DRF would turn "abcd\\n" into a valid name (T13).
"""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from accounts import devices
from accounts.devices import Client
from accounts.models import MailKind, User
from accounts.tokens import decoding
from relations.api.serializers import RelationSerializer
from socialsite.core import site
from socialsite.core.http.serializer_fields import TextField
from socialsite.core.ids import MAX_ID

# Far above every rule, so that people read the rule's own message.
INPUT_MAX = 200
EMAIL_MAX = 320
TERMS_MAX = 2**31 - 1
TOKEN_MAX = decoding.MAX_LENGTH


class Text(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": INPUT_MAX, "trim_whitespace": False, **kwargs})


class _ClientField(serializers.ChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        text = "kind of device"
        super().__init__(choices=Client.choices, default=Client.OTHER, help_text=text, **kwargs)


class TermsField(serializers.IntegerField):
    """A version of the terms, or true for the current one; the result is a version, 0 for none."""

    def __init__(self, **kwargs: Any) -> None:
        text = "the version of the terms that the person accepts (see `terms` of site); true: the"
        super().__init__(
            **{
                "required": False,
                "default": 0,
                "min_value": 0,
                "max_value": TERMS_MAX,
                "help_text": f"{text} current one",
                **kwargs,
            }
        )

    def to_internal_value(self, data: Any) -> int:
        """Return the version."""
        if isinstance(data, bool):
            return site.current().terms if data else 0
        return int(super().to_internal_value(data))


class OnDeviceSerializer(serializers.Serializer[Any]):
    """The device that signs in: its kind and, with CLIENT_POLICY=device, its id."""

    client = _ClientField()
    device = Text(
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
        help_text=f"{devices.ID_MIN} to {devices.ID_MAX} of A-Za-z0-9_-, a stable id of the"
        " device. Ignored with CLIENT_POLICY `type`; with `device`, a sign-in without an id counts"
        " as a new device",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Combine both into one `client`."""
        device = attrs.pop("device") or devices.new_id()
        if devices.per_device() and not devices.ID.fullmatch(device):
            lengths = {"min": devices.ID_MIN, "max": devices.ID_MAX}
            message = _("%(min)s to %(max)s letters, digits, - and _.") % lengths
            raise serializers.ValidationError({"device": message})
        return attrs | {"client": devices.client_of(attrs["client"], device)}


class LoginSerializer(OnDeviceSerializer):
    """Input of auth/login."""

    username = Text()
    password = Text()
    otp = Text(
        required=False,
        allow_blank=True,
        default="",
        help_text="code of the second factor; required after error 25",
    )
    terms = TermsField()


class RefreshSerializer(serializers.Serializer[Any]):
    """Input of auth/refresh."""

    refresh = Text(max_length=TOKEN_MAX)


class PasswordSerializer(serializers.Serializer[Any]):
    """Input of auth/password; the action checks the rules of passwords."""

    old_password = Text()
    new_password = Text(allow_blank=True)


class EmailSerializer(serializers.Serializer[Any]):
    """Input of auth/email; an empty address removes the current one."""

    email = Text(allow_blank=True, max_length=EMAIL_MAX)
    password = Text()


class EmailStateSerializer(serializers.Serializer[Any]):
    """One's own address, empty for none; `waiting` replaces it once its link was opened."""

    email = serializers.CharField(allow_blank=True)
    waiting = serializers.CharField(allow_blank=True)


class LinkSerializer(serializers.Serializer[Any]):
    """Input of auth/email/confirm: the token at the end of the mailed link."""

    token = Text(max_length=TOKEN_MAX)


class RecoverSerializer(serializers.Serializer[Any]):
    """Input of auth/recover."""

    email = Text(max_length=EMAIL_MAX)


class RecoverConfirmSerializer(LinkSerializer):
    """Input of auth/recover/confirm; the action checks the rules of passwords."""

    new_password = Text(allow_blank=True)


@extend_schema_serializer(component_name="Otp")
class TwoFactorCodeSerializer(serializers.Serializer[Any]):
    """Input of auth/totp/confirm and auth/totp/recovery-codes."""

    otp = Text(
        help_text="six digits of the authenticator app; once it is on, a recovery code also works"
    )


@extend_schema_serializer(component_name="TotpBegin")
class TwoFactorBeginSerializer(serializers.Serializer[Any]):
    """Input of POST auth/totp."""

    password = Text()


@extend_schema_serializer(component_name="TotpEnd")
class TwoFactorEndSerializer(TwoFactorBeginSerializer):
    """Input of DELETE auth/totp."""

    otp = Text(help_text="six digits of the authenticator app, or a recovery code")


class CloseSerializer(TwoFactorBeginSerializer):
    """Input of DELETE users/me."""

    otp = Text(
        required=False,
        allow_blank=True,
        default="",
        help_text="code of the second factor; required after error 25",
    )


class ClosedSerializer(serializers.Serializer[Any]):
    """From when a closed account is erased; until then it can be taken back."""

    closes_at = serializers.CharField()


@extend_schema_serializer(component_name="TotpState")
class TwoFactorStateSerializer(serializers.Serializer[Any]):
    """State of the second factor."""

    on = serializers.BooleanField()
    recovery_codes_left = serializers.IntegerField()


@extend_schema_serializer(component_name="TotpSecret")
class TwoFactorSecretSerializer(serializers.Serializer[Any]):
    """Data for an authenticator app."""

    secret = serializers.CharField(help_text="base32")
    url = serializers.CharField(help_text="otpauth URL, to show as a QR code")


class RecoveryCodesSerializer(serializers.Serializer[Any]):
    """Recovery codes, shown only now; each replaces a code of the app once."""

    recovery_codes = serializers.ListField(child=serializers.CharField())


class _PictureField(serializers.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        text = "id of your own media, null for no picture"
        super().__init__(
            required=False,
            allow_null=True,
            min_value=1,
            max_value=MAX_ID,
            help_text=text,
            **kwargs,
        )


class _KnownFields(serializers.Serializer[Any]):
    """Refuses fields that do not exist, by name: a client would think that they were stored."""

    # Of the fields that an answer names, at most so many.
    UNKNOWN_MAX = 20

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse fields that do not exist."""
        unknown = sorted(set(self.initial_data) - set(self.fields))[: self.UNKNOWN_MAX]
        if unknown:
            message = _("There is no such field.")
            raise serializers.ValidationError({name[:INPUT_MAX]: message for name in unknown})
        return attrs


class ReadingPreferencesSerializer(_KnownFields):
    """What a reader sees without asking; null: each browser has its own choice."""

    unfold_notes = serializers.BooleanField(
        required=False, allow_null=True, help_text="unfold posts with a content note"
    )
    show_sensitive = serializers.BooleanField(
        required=False, allow_null=True, help_text="show sensitive pictures and videos at once"
    )


class ProfileSerializer(_KnownFields):
    """Input of PATCH users/me; only the given fields change, and there are no others."""

    nickname = Text(required=False, allow_blank=True)
    bio = TextField(required=False, allow_blank=True, max_length=User.BIO_MAX)
    avatar = _PictureField()
    banner = _PictureField()
    links = serializers.ListField(
        child=Text(),
        required=False,
        max_length=INPUT_MAX,
        help_text=f"https addresses, at most {User.LINKS_MAX} of {User.LINK_MAX} characters",
    )
    place = Text(required=False, allow_blank=True, help_text=f"at most {User.PLACE_MAX}")
    pronouns = Text(required=False, allow_blank=True, help_text=f"at most {User.PRONOUNS_MAX}")
    language = serializers.ChoiceField(
        choices=[code for code, _name in settings.LANGUAGES],
        required=False,
        allow_blank=True,
        help_text="of mails, and of browsers that log in; empty for none",
    )
    likes_shown = serializers.BooleanField(
        required=False, help_text="whether others see the posts that you like"
    )
    mails = serializers.ListField(
        child=serializers.ChoiceField(choices=MailKind.labels),
        required=False,
        max_length=len(MailKind),
        help_text="the mails that you get, besides those about your account",
    )


class PairSerializer(serializers.Serializer[Any]):
    """An access token and a refresh token."""

    access = serializers.CharField()
    refresh = serializers.CharField()


class TicketSerializer(serializers.Serializer[Any]):
    """A ticket for `/ws/session/`."""

    ticket = serializers.CharField()


class IntrospectSerializer(serializers.Serializer[Any]):
    """Input of auth/introspect: any text; only a live token has a meaning."""

    token = serializers.CharField(trim_whitespace=False, allow_blank=True)


class ClaimsSerializer(serializers.Serializer[Any]):
    """Claims of a live token; otherwise only `active`."""

    active = serializers.BooleanField()
    typ = serializers.ChoiceField(choices=["access", "refresh"], required=False)
    uid = serializers.CharField(required=False, help_text="id of the person")
    sub = serializers.CharField(required=False, help_text="same as `uid`")
    username = serializers.CharField(required=False)
    cli = serializers.CharField(required=False, help_text="kind of device")
    ver = serializers.IntegerField(required=False, help_text="version of the tokens of this device")
    bat = serializers.IntegerField(required=False, help_text="batch of the tokens of all devices")
    rol = serializers.IntegerField(
        required=False, help_text="sum of 1 member, 2 moderator, 4 admin; access tokens only"
    )
    iat = serializers.IntegerField(required=False, help_text="issued at, Unix seconds")
    exp = serializers.IntegerField(required=False, help_text="expires at, Unix seconds")
    jti = serializers.CharField(required=False, help_text="id of the token")
    iss = serializers.CharField(required=False)
    aud = serializers.CharField(required=False)


class CountsSerializer(serializers.Serializer[Any]):
    """Counts of a person."""

    following = serializers.IntegerField()
    followers = serializers.IntegerField()
    friends = serializers.IntegerField()
    posts = serializers.IntegerField()


class UserSerializer(RelationSerializer):
    """A person. Of someone I block: names and avatar only."""

    id = serializers.CharField()
    username = serializers.CharField()
    nickname = serializers.CharField()
    avatar = serializers.CharField(allow_blank=True)
    bio = serializers.CharField(allow_blank=True)
    banner = serializers.CharField(allow_blank=True, help_text="address of a wide picture")
    links = serializers.ListField(child=serializers.CharField())
    place = serializers.CharField(allow_blank=True)
    pronouns = serializers.CharField(allow_blank=True)
    joined_at = serializers.DateTimeField(allow_null=True)
    likes_shown = serializers.BooleanField(help_text="whether others see the posts they like")
    counts = CountsSerializer(allow_null=True)


class MeSerializer(UserSerializer):
    """The requesting person."""

    language = serializers.CharField(allow_blank=True, help_text="empty for none")
    mails = serializers.ListField(
        child=serializers.ChoiceField(choices=MailKind.labels), help_text="those that you get"
    )


class DeviceSerializer(serializers.Serializer[Any]):
    """A device that is signed in."""

    client = serializers.CharField(help_text="id for DELETE auth/devices/{client}")
    kind = serializers.ChoiceField(choices=Client.choices)
    name = serializers.CharField(help_text="browser or program, and operating system")
    address = serializers.CharField(
        allow_blank=True, help_text="IP address of the log-in; empty once erased"
    )
    last_seen = serializers.DateTimeField(help_text="accurate to about five minutes")
    current = serializers.BooleanField(help_text="true for the requesting device")


class PastSignInSerializer(serializers.Serializer[Any]):
    """A sign-in of the person."""

    id = serializers.CharField()
    client = serializers.CharField()
    kind = serializers.ChoiceField(choices=Client.choices)
    name = serializers.CharField(help_text="browser or program, and operating system")
    address = serializers.CharField(allow_blank=True, help_text="empty once erased")
    at = serializers.DateTimeField()
    current = serializers.BooleanField(help_text="true for the last one of the requesting device")


class SignInLogSerializer(serializers.Serializer[Any]):
    """Sign-ins of the last 90 days, the newest first."""

    items = PastSignInSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class DevicePageSerializer(serializers.Serializer[Any]):
    """All signed-in devices, most recently seen first; there is only one page."""

    items = DeviceSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class SignInSerializer(PairSerializer):
    """A person and their tokens."""

    user = MeSerializer()
