"""What feeds does when a lower app tells a fact."""
