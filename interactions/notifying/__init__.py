"""How a fact becomes a notification.

`causes` reads what a fact means to whom and keeps it, in the relay; `fold` brings the causes of one
reader into groups; `retention` forgets old groups. A new kind is one entry in `kinds`.
"""
