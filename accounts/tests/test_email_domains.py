"""Addresses under a domain in another script: stored and compared in one form."""

from accounts import email_rules

BOTH = ("name@bücher.example", "name@xn--bcher-kva.example")


def test_both_forms_of_a_domain_are_one_address() -> None:
    for value in (*BOTH, "name@BÜCHER.example", " name@bu\u0308cher.example "):
        assert email_rules.normal(value) == BOTH[1]
        assert email_rules.mistakes(value) == []
    for value in ("name@é..example", "name@-é.example", "námé@a.example", "a@\u202eé.example"):
        assert email_rules.mistakes(value)
