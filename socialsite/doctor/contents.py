"""All checks, in the order of the report."""

from django.utils.translation import gettext_lazy as _

from socialsite.doctor.checks import (
    broker,
    configuration,
    database,
    machine,
    mail,
    replicas,
    servers,
    tls,
    uploads,
    work,
)
from socialsite.doctor.findings import Check

CHECKS: tuple[Check, ...] = (
    Check("switches", _("Settings for trials"), configuration.switches),
    Check("keys", _("Keys"), configuration.keys),
    Check("proxies", _("Proxies"), configuration.proxies),
    Check("origin", _("Origin"), configuration.origin),
    Check("tls", _("TLS"), tls.tls),
    Check("database", _("Database"), database.reachable),
    Check("migrations", _("Migrations"), database.migrations),
    Check("durability", _("Durability"), database.durability),
    Check("charset", _("Character set"), database.charset),
    Check("isolation", _("Isolation"), database.isolation),
    Check("replicas", _("Replicas"), replicas.applied),
    Check("eviction", _("Cache and broker"), servers.eviction),
    Check("cache_servers", _("Servers of the cache"), servers.cache_servers),
    Check("broker", _("Servers of the broker"), broker.servers),
    Check("latency", _("Latency"), servers.latency),
    Check("channel_layer", _("Channel layer"), servers.channel_layer),
    Check("worker", _("Workers"), work.worker),
    Check("clock", _("Clock"), machine.clock),
    Check("disk", _("Disk"), machine.disk),
    Check("uploads", _("Uploads"), uploads.uploads),
    Check("mail", _("Mail"), mail.mail),
    Check("backup", _("Backup"), machine.backup),
    Check("versions", _("Versions"), machine.versions),
)
