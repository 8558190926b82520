"""The systemd units: one for each role, one for nginx, and a target for all."""

from deploy.services.role import SILENT_SECONDS
from deploy.services.site_processes import ROLES, Role
from deploy.site import layout, settings
from deploy.site.machine import Machine

# What a process of the site may not do. `systemd-analyze security` weighs these lines.
HARDENING = """\
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet={capabilities}
AmbientCapabilities={capabilities}
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
ProcSubset=pid
RemoveIPC=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID={set_group_id}
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallFilter={system_calls}
SystemCallErrorNumber=EPERM
LimitNOFILE=65536
"""

# What confines ffmpeg: Landlock, and setpriv, which drops rights.
CONFINING = "landlock_create_ruleset landlock_add_rule landlock_restrict_self capset"

ROLE = """\
# Written by the installation of socialsite. Changes belong into a drop-in: systemctl edit {unit}
[Unit]
Description=socialsite: {title}
After=network.target mariadb.service redis-server@{cache}.service redis-server@{broker}.service
PartOf={target}
StartLimitIntervalSec=0
ConditionPathExists=!{restoring}

[Service]
Type=notify
NotifyAccess=main
WorkingDirectory={current}
ExecStart=/usr/bin/python3 -m deploy.services.role {role} {run}
{environment}EnvironmentFile={secrets}
EnvironmentFile={settings}
User={account}
SupplementaryGroups={redis} {web}
# Readiness, and (for those that answer requests) every two seconds that they still do.
TimeoutStartSec=120
{watchdog}{kept}Restart=always
RestartSec=500ms
KillMode=mixed
TimeoutStopSec={stop_seconds}
SuccessExitStatus=143
ReadWritePaths={data} {run}
{hardening}
[Install]
WantedBy={target}
"""

NGINX = """\
# Written by the installation of socialsite. Changes belong into a drop-in: systemctl edit {unit}
[Unit]
Description=socialsite: nginx
After=network.target
PartOf={target}
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStartPre=/usr/sbin/nginx -t -q -e stderr -c {config}
ExecStart=/usr/sbin/nginx -e stderr -c {config}
ExecReload=/usr/sbin/nginx -t -q -e stderr -c {config}
ExecReload=/bin/kill -HUP $MAINPID
User={web}
Group={web}
RuntimeDirectory={work}
RuntimeDirectoryMode=0700
Restart=always
RestartSec=500ms
KillMode=mixed
KillSignal=SIGQUIT
TimeoutStopSec=20
{hardening}
[Install]
WantedBy={target}
"""

TARGET = """\
# Written by the installation of socialsite.
[Unit]
Description=socialsite: all processes of the site
Wants=mariadb.service redis-server@{cache}.service redis-server@{broker}.service

[Install]
WantedBy=multi-user.target
"""

GUARD_UNIT = "socialsite-guard.service"
GUARD = """\
# Written by the installation of socialsite.
[Unit]
Description=socialsite: refuses writes before the disk of the database is full
After=mariadb.service
PartOf={target}
StartLimitIntervalSec=0

[Service]
WorkingDirectory={current}
ExecStart=/usr/bin/python3 -m deploy.site.guard
RuntimeDirectory={runtime}
RuntimeDirectoryPreserve=yes
Restart=always
RestartSec=2s
{hardening}
[Install]
WantedBy={target}
"""

# Back-ups run as root, who reads the database by its socket and all uploads.
BACKUP = """\
# Written by the installation of socialsite.
[Unit]
Description=socialsite: {title}
After=mariadb.service
Requires=mariadb.service
ConditionPathExists=!{restoring}
# Root may write to a read-only database: the log of a full disk would wait for room, and hold all.
ConditionPathExists=!{guard_mark}

[Service]
Type=oneshot
ExecStart={command} backup{option}
# The one of each minute says nothing as long as it works; it marks its errors.
LogLevelMax={log_level}
Nice=10
IOSchedulingClass=idle
NoNewPrivileges=yes
ProtectSystem=full
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
"""
# Its findings are in the journal, their number in the metrics.
DOCTOR_UNIT = "socialsite-doctor.service"
DOCTOR = """\
# Written by the installation of socialsite.
[Unit]
Description=socialsite: the daily checks
After=mariadb.service
ConditionPathExists=!{restoring}

[Service]
Type=oneshot
ExecStart={command} doctor
SuccessExitStatus=1
Nice=10
PrivateTmp=yes
ProtectSystem=full
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
"""
TIMER = """\
# Written by the installation of socialsite.
[Unit]
Description=socialsite: {title}

[Timer]
OnCalendar={when}
RandomizedDelaySec={delay}
AccuracySec=1s
Persistent=yes

[Install]
WantedBy=timers.target
"""
BACKUP_UNIT, LOG_UNIT = "socialsite-backup.service", "socialsite-backup-log.service"
BACKUPS = {
    "socialsite-backup": ("full back-up", "", "*-*-* 03:30", "30min"),
    "socialsite-backup-log": ("back-up of what was written since", " --log", "minutely", "0"),
}
# What systemd runs at which time of the day.
TIMED = {
    **{name: (title, when, delay) for name, (title, _, when, delay) in BACKUPS.items()},
    DOCTOR_UNIT.removesuffix(".service"): ("the daily checks", "*-*-* 06:00", "30min"),
}

# The logs of all processes are in the journal. They contain addresses of visitors.
JOURNAL = """\
# Written by the installation of socialsite.
[Journal]
Storage=persistent
SystemMaxUse=1G
MaxRetentionSec=30day
"""

TMPFILES = """\
# Written by the installation of socialsite: the directory of the sockets, for nginx too.
d {run} 0750 {account} {web} -
"""


def write(machine: Machine) -> None:
    """Write all units and enable them; nothing is started here."""
    values = {
        "cache": layout.CACHE,
        "broker": layout.BROKER,
        "target": layout.TARGET,
        "account": layout.ACCOUNT,
        "web": layout.WEB_ACCOUNT,
        "run": layout.RUN,
    }
    texts = {layout.unit_of(role.name): role_unit(role) for role in ROLES}
    texts[layout.NGINX_UNIT] = NGINX.format(
        unit=layout.NGINX_UNIT,
        config=layout.NGINX_CONFIG,
        work=layout.NGINX_WORK.name,
        hardening=HARDENING.format(
            capabilities="CAP_NET_BIND_SERVICE", system_calls="~@resources", set_group_id="yes"
        ),
        **values,
    )
    texts[GUARD_UNIT] = GUARD.format(
        runtime=layout.GUARD_MARK.parent.name,
        current=layout.CURRENT,
        # Root, whom the database knows by its socket; without any of root's other rights.
        hardening=HARDENING.format(capabilities="", system_calls="~@resources", set_group_id="yes"),
        target=layout.TARGET,
    )
    texts[layout.TARGET] = TARGET.format(**values)
    texts |= _timed_units()
    written = [machine.write(layout.UNITS / name, text) for name, text in texts.items()]
    machine.directory(layout.JOURNAL.parent)
    if machine.write(layout.JOURNAL, JOURNAL):
        machine.run("systemctl", "restart", "systemd-journald.service")
    if machine.write(layout.TMPFILES, TMPFILES.format(**values)):
        machine.run("systemd-tmpfiles", "--create", str(layout.TMPFILES))
    if any(written):
        machine.run("systemctl", "daemon-reload")
    for name, text in texts.items():
        if "[Install]" in text:
            machine.enabled(name, start=False)


def _timed_units() -> dict[str, str]:
    """Return what runs at some time of the day, with the timers."""
    texts = {DOCTOR_UNIT: DOCTOR.format(command=layout.COMMAND, restoring=layout.RESTORING)}
    for name, (title, option, _when, _delay) in BACKUPS.items():
        texts[f"{name}.service"] = BACKUP.format(
            title=title,
            command=layout.COMMAND,
            option=option,
            log_level="notice" if option else "debug",
            restoring=layout.RESTORING,
            guard_mark=layout.GUARD_MARK,
        )
    for name, (title, when, delay) in TIMED.items():
        texts[f"{name}.timer"] = TIMER.format(title=title, when=when, delay=delay)
    return texts


def timers() -> list[str]:
    """Return the names of the timers."""
    return [f"{name}.timer" for name in TIMED]


def backups() -> list[str]:
    """Return the names of the units that back up."""
    return [f"{name}.service" for name in BACKUPS]


def role_unit(role: Role) -> str:
    """Return the unit of a role."""
    fixed = "".join(f"Environment={name}={value}\n" for name, value in settings.fixed().items())
    return ROLE.format(
        unit=layout.unit_of(role.name),
        role=role.name,
        title=role.title,
        cache=layout.CACHE,
        broker=layout.BROKER,
        target=layout.TARGET,
        current=layout.CURRENT,
        run=layout.RUN,
        environment=fixed,
        secrets=layout.SECRETS,
        settings=layout.SETTINGS,
        account=layout.ACCOUNT,
        restoring=layout.RESTORING,
        redis=layout.REDIS_ACCOUNT,
        web=layout.WEB_ACCOUNT,
        # Its listening socket, over a restart: see deploy/services/role.py.
        kept="FileDescriptorStoreMax=1\n" if role.inheriting else "",
        watchdog=f"WatchdogSec={SILENT_SECONDS:.0f}\n" if role.answers else "",
        # A worker first ends the tasks that it runs.
        stop_seconds=20 if role.answers else 60,
        data=layout.DATA,
        # ffmpeg also gets limits and a lower priority. Folders of uploads have the setgid bit.
        hardening=HARDENING.format(
            capabilities="",
            system_calls=CONFINING if role.name == "video" else "~@resources",
            set_group_id="no",
        ),
    )
