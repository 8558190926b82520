"""Long stress tests, run by `make chaos`; the test suite has a short version of each.

Measurements of speed belong to `bench`.
"""
