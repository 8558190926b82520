"""Deliberate defects: which ones there are, and the copy of the tree that gets them.

Running the tests on each defect and printing the summary belong to `chaos.defects`.
"""
