"""WebSockets of signed-in devices: handshake, hints, the kick and its reasons.

What other apps announce to a page goes through `hints`.
"""
