"""What interactions does when a lower app tells a fact."""
