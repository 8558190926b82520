"""Benchmarks of the site; each figure is compared with a floor of the same run: `make bench`."""
