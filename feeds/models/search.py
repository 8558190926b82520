"""The index of the words of posts: it follows from them, and can be rebuilt."""

from django.db import models

from socialsite.core.search import postings


class PostTerm(postings.Posting):
    """A post has a term."""

    def __str__(self) -> str:
        return f"{self.term} of {self.object_id}"


class SearchedPost(postings.Indexed):
    """The terms of a post in the index."""

    def __str__(self) -> str:
        return f"terms of {self.object_id}"


class SearchCheck(models.Model):
    """The result of a check of the index, for the metric."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    posts = models.PositiveIntegerField()
    wrong = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.wrong} of {self.posts}"
