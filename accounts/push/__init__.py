"""Pushes to signed-in devices: their subscriptions, and the sending of one message."""
