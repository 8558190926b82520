"""Imports of posts: readers of archives, the words that become of them, and how posts are made."""
