"""Bottom layer: ids, positions, errors, events, Redis, database helpers. Knows no domain model."""
