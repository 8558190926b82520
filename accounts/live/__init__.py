"""WebSockets of signed-in devices: handshake, hints, the kick and its reasons.

Other apps notify open pages through `hints`.
"""
