"""Per request: budgets that it takes from, and effects that happen once for each key."""
