"""Cards: posts as a reader sees them, for every list."""
