"""Imports of a person's own data: the jobs that check, run and undo them, and readers of files.

An app declares its kinds in its module `imports`; `socialsite.imports` lists them.
"""
