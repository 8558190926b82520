#!/bin/sh
# Install the missing ones of the given Debian packages; silent and quick when none is missing.
set -eu

missing=
for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "These Debian packages are needed; on this system please install their equivalents:$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "These Debian packages are needed; run as root: apt-get install$missing" >&2
    exit 1
fi

echo "Installing Debian packages:$missing ..." >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # The stack starts nginx itself, so Debian must not start services during the installation.
    # shellcheck disable=SC2086,SC2016  # the list is meant to be split, the script expands its own
    $as_root env DEBIAN_FRONTEND=noninteractive sh -c '
        policy=/usr/sbin/policy-rc.d
        if [ ! -e $policy ]; then
            trap "rm -f $policy" EXIT
            printf "#!/bin/sh\nexit 101\n" >$policy
            chmod 755 $policy
        fi
        apt-get install -y -qq --no-install-recommends "$@"
    ' sh $missing >"$log" 2>&1 </dev/null
}
# Package lists are fetched only when the installation fails with the present ones.
if ! install; then
    $as_root apt-get update -qq >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    install || { cat "$log" >&2; exit 1; }
fi
