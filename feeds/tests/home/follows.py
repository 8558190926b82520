"""Follows of thousands, written at once."""

from collections.abc import Collection

from relations.models import Relation, RelationCount, Relationship


def follow_all(viewer: int, authors: Collection[int]) -> None:
    """Let a person follow thousands at once."""
    Relationship.objects.bulk_create(
        Relationship(
            from_user_id=viewer, to_user_id=author, relation=Relation.FOLLOWING, followed_at=1
        )
        for author in authors
    )
    RelationCount.objects.update_or_create(pk=viewer, defaults={"following": len(authors)})
