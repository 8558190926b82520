"""What `chaos/attack.py` is made of: sites, people, requests, and the parts of the campaign."""
