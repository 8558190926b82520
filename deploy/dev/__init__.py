"""Programs for developers: checks, tests, trials, screenshots, lock files."""
