"""The checks, in modules by what they look at."""
