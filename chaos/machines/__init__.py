"""Debian machines with systemd for trials: `systemd-nspawn` in a network namespace of their own."""
