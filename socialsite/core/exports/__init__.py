"""Archives of a person's own data: their parts, how one is written, and the jobs that make them.

An app declares its parts in its module `exports`; `socialsite.exports` lists them.
"""
