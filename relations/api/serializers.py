"""API shapes of relations. Responses are plain dicts; these serializers are their schema."""

from typing import Any

from rest_framework import serializers

from relations.models import Relation


class RelationSerializer(serializers.Serializer[Any]):
    """The reader's relation to a person."""

    relation = serializers.ChoiceField(
        choices=Relation.names, allow_null=True, help_text="from the reader's side; null for none"
    )


class PersonSerializer(RelationSerializer):
    """A person in a list, with the reader's relation to them."""

    id = serializers.CharField()
    username = serializers.CharField()
    nickname = serializers.CharField()
    avatar = serializers.CharField(allow_blank=True)
    bio = serializers.CharField(allow_blank=True)


class PersonPageSerializer(serializers.Serializer[Any]):
    """A page of people, newest first."""

    items = PersonSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class UserRelationSerializer(RelationSerializer):
    """The state of one pair as seen by the reader."""

    user_id = serializers.CharField()


class UserRelationListSerializer(serializers.Serializer[Any]):
    """The requested states, in the order of the ids."""

    items = UserRelationSerializer(many=True)
