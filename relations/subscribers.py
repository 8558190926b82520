"""What relations does when a lower app tells a fact."""
