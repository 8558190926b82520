"""Tags: the index of posts by tag, follows of tags, and the ranking of those in use.

`socialsite.core.text.spans` finds the tags in the words of a post.
"""
