"""What accounts does when a lower app tells a fact."""
