"""API of interactions."""
