"""Search for posts: the language of questions, the index of words, and pages of results.

The index only proposes posts. Each is then checked by the visibility gate and compared with its
present words, so a late index shows nothing that it must not.
"""
