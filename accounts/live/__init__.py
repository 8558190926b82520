"""WebSockets of signed-in devices: the handshake, the checks and the kick.

Other apps notify open pages through `accounts.live_hints`.
"""
