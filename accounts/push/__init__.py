"""Pushes to signed-in devices: their subscriptions, and the sending of one message.

Encryption and requests belong to `core.http.client.web_push`, the texts to `interactions`.
"""
