"""The parts of `chaos/attack.py`: sites, people, requests, and the tests of the campaign."""
