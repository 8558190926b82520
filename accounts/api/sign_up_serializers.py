"""API shapes of sign-up: what it takes, its task, what waits, and invitations."""

from typing import Any

from rest_framework import serializers

from accounts.api.serializers import EMAIL_MAX, OnDeviceSerializer, TermsField, Text
from accounts.models import Invite, SignUpRequest
from accounts.sign_in.challenge import SOLUTION_MAX

SIGN_UP_STATES = [SignUpRequest.State.UNCONFIRMED.value, SignUpRequest.State.WAITING.value]


class RegisterSerializer(OnDeviceSerializer):
    """Input of auth/register; the action checks the rules of names."""

    username = Text(allow_blank=True)
    nickname = Text(allow_blank=True)
    password = Text(allow_blank=True)
    email = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=EMAIL_MAX,
        help_text="receives a confirmation link; required if `email_needed` of site is true",
    )
    reason = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=SignUpRequest.REASON_MAX,
        help_text="answer to the `question` of site; required if `sign_up` of site is `approval`",
    )
    invite = Text(required=False, allow_blank=True, default="", help_text="code of an invitation")
    terms = TermsField()
    challenge = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=SOLUTION_MAX,
        help_text="solution of the task of auth/challenge, if it is needed; otherwise ignored",
    )


class SignUpRequestSerializer(serializers.Serializer[Any]):
    """A sign-up whose account is not open yet."""

    state = serializers.ChoiceField(
        choices=SIGN_UP_STATES,
        help_text="unconfirmed: the link of a mail is to be opened; waiting: staff decide",
    )


class ChallengeSerializer(serializers.Serializer[Any]):
    """A task of ALTCHA: find the number whose hash, after the salt, is `challenge`."""

    algorithm = serializers.CharField()
    challenge = serializers.CharField(help_text="hash in hexadecimal digits")
    maxnumber = serializers.IntegerField()
    salt = serializers.CharField()
    signature = serializers.CharField()


class ChallengeStateSerializer(serializers.Serializer[Any]):
    """Whether a sign-up needs a solution now, and a new task for it."""

    needed = serializers.BooleanField()
    challenge = ChallengeSerializer(allow_null=True)


class InviteInputSerializer(serializers.Serializer[Any]):
    """Input of invites."""

    uses = serializers.IntegerField(
        default=1, min_value=1, max_value=Invite.USES_MAX, help_text="how many people may use it"
    )
    days = serializers.IntegerField(
        default=7, min_value=1, max_value=Invite.DAYS_MAX, help_text="how long it is valid"
    )


class InviteSerializer(serializers.Serializer[Any]):
    """One's invitation, with the ids of the people who came by it."""

    id = serializers.CharField()
    url = serializers.CharField(help_text="what to send")
    code = serializers.CharField(help_text="`invite` of auth/register")
    uses = serializers.IntegerField()
    used = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    people = serializers.ListField(child=serializers.CharField())


class InvitePageSerializer(serializers.Serializer[Any]):
    """One's invitations, those that end last first; all that are open are among them."""

    items = InviteSerializer(many=True)
    next = serializers.CharField(allow_null=True)
