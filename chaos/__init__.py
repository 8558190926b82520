"""Long trials by fire, run by command: `make chaos`. A slice of each stands in the tests."""
