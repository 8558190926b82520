"""A machine with an installed site, for trials that need one."""

from pathlib import Path

from chaos.machines.nspawn import Machine
from chaos.machines.visitor import Visitor

DOMAIN = "social.example.org"
CHECKOUT = "/root/socialsite"


def install(machine: Machine, *settings: str, version: str = "") -> None:
    """Install the site by the documented command, with these lines in its settings.

    It is the site of this working tree, or of the commit or tag `version`.
    """
    machine.check_out(CHECKOUT, version)
    certificate(machine)
    words = ("--certificate", "/root/certificate.pem", "--key", "/root/key.pem")
    machine.output("deploy/install", "--domain", DOMAIN, *words, cwd=CHECKOUT)
    if settings:
        with (machine.root / "etc/socialsite/site.env").open("a") as file:
            file.writelines(f"{line}\n" for line in settings)
        machine.output("site", "reload")


def certificate(machine: Machine) -> None:
    """Make a certificate that visitors trust, as an operator has one."""
    machine.output("apt-get", "update", "-qq")
    machine.output("apt-get", "install", "-y", "-qq", "openssl")
    machine.output(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "90", "-subj", f"/CN={DOMAIN}"),
        *("-addext", f"subjectAltName=DNS:{DOMAIN}"),
        *("-keyout", "key.pem", "-out", "certificate.pem"),
    )


def visitor(machine: Machine) -> Visitor:
    """Return somebody who uses the site."""
    return Visitor(machine.namespace, DOMAIN, Path(machine.root, "root/certificate.pem"))
