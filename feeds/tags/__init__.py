"""Tags: the index of posts by tag, follows of tags, and the ranking of those in use.

A tag is found in the words of a post by `socialsite.core.text.spans`.
"""
