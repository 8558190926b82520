"""Long stress tests, run by command: `make chaos`. The test suite has a short version of each."""
