"""Benchmarks, run by `make bench`; each figure is compared with a floor of the same run.

Checks of correctness belong to the tests or to `chaos`.
"""
