"""Serializers of passkeys: the answers of browsers, as `PublicKeyCredential.toJSON` writes them."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from accounts.api.serializers import OnDeviceSerializer, TermsField, Text
from accounts.models import Passkey

# Characters of a part of an answer in base64url, and of a whole answer. Answers have about 1,000.
PART_MAX = 8000
CREDENTIAL_MAX = 20_000
ID_MAX = 1400
TRANSPORTS_MAX = 10


class _Part(Text):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": PART_MAX, "help_text": "base64url", **kwargs})


class _CredentialSerializer(serializers.Serializer[Any]):
    id = _Part(max_length=ID_MAX)
    rawId = _Part(max_length=ID_MAX)  # noqa: N815 - a name of the standard
    type = serializers.RegexField("^public-key$", max_length=20)


class _AttestationResponseSerializer(serializers.Serializer[Any]):
    clientDataJSON = _Part()  # noqa: N815
    attestationObject = _Part()  # noqa: N815
    transports = serializers.ListField(
        child=Text(max_length=20), max_length=TRANSPORTS_MAX, required=False
    )


class _AssertionResponseSerializer(serializers.Serializer[Any]):
    clientDataJSON = _Part()  # noqa: N815
    authenticatorData = _Part()  # noqa: N815
    signature = _Part()
    userHandle = _Part(required=False, allow_null=True, max_length=100)  # noqa: N815


@extend_schema_serializer(component_name="PasskeyAttestation")
class AttestationSerializer(_CredentialSerializer):
    """The answer of `navigator.credentials.create`."""

    response = _AttestationResponseSerializer()


@extend_schema_serializer(component_name="PasskeyAssertion")
class AssertionSerializer(_CredentialSerializer):
    """The answer of `navigator.credentials.get`."""

    response = _AssertionResponseSerializer()


@extend_schema_serializer(component_name="PasskeyProof")
class ProofSerializer(serializers.Serializer[Any]):
    """Input of POST auth/passkeys/options and DELETE auth/passkeys/{id}."""

    password = Text(
        required=False,
        allow_blank=True,
        default="",
        help_text="this or a passkey is required after error 41, when the log-in was a while ago",
    )
    otp = Text(
        required=False,
        allow_blank=True,
        default="",
        help_text="code of the second factor, with the password; required after error 25",
    )
    credential = AssertionSerializer(
        required=False,
        allow_null=True,
        default=None,
        help_text="answer to the options of auth/passkeys/prove-options",
    )


@extend_schema_serializer(component_name="PasskeyInput")
class NewPasskeySerializer(serializers.Serializer[Any]):
    """Input of POST auth/passkeys."""

    name = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=Passkey.NAME_MAX,
        help_text="shown to its person; without one, the name of the device",
    )
    credential = AttestationSerializer()


@extend_schema_serializer(component_name="PasskeyName")
class PasskeyNameSerializer(serializers.Serializer[Any]):
    """Input of PATCH auth/passkeys/{id}."""

    name = Text(max_length=Passkey.NAME_MAX, help_text="shown to its person")


@extend_schema_serializer(component_name="PasskeyLogin")
class PasskeyLoginSerializer(OnDeviceSerializer):
    """Input of POST auth/passkeys/login."""

    credential = AssertionSerializer()
    terms = TermsField()


class OptionsSerializer(serializers.Serializer[Any]):
    """The options of a ceremony, with a challenge that is valid once, for five minutes."""

    publicKey = serializers.DictField(  # noqa: N815
        help_text="for `parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`"
    )


class PasskeySerializer(serializers.Serializer[Any]):
    """A passkey."""

    id = serializers.CharField()
    name = serializers.CharField()
    backed_up = serializers.BooleanField(help_text="a password manager copies it to other devices")
    created_at = serializers.DateTimeField()
    last_used = serializers.DateTimeField(allow_null=True)


class PasskeyListSerializer(serializers.Serializer[Any]):
    """All passkeys, the oldest first; there is only one page."""

    items = PasskeySerializer(many=True)
    next = serializers.CharField(allow_null=True)
