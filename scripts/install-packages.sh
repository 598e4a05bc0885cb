#!/bin/sh
# Installs the Debian packages of a list that are missing: install-packages.sh LIST (packages.txt, packages-vm.txt).
#
# Of web, SSH, FTP and database servers only the program is needed: those that are installed here are neither started now
# nor at boot. Servers that were installed before stay as they are, also those that came with another package, as a
# PostgreSQL of one version does: what had a unit before is left alone.
set -eu

SERVERS="nginx.service postgresql.service ssh.socket ssh.service vsftpd.service"
GUARD=/usr/sbin/policy-rc.d # Debian's packages ask it whether they may start their services
OURS="Flightpath's, while it installs packages"

main() {
    missing=$(missing_packages "$1")
    if [ -z "$missing" ] && ! guard_is_ours; then return; fi
    [ -z "$missing" ] || echo "installing Debian packages:" $missing
    if [ "$(id -u)" = 0 ]; then
        install_packages $missing
    else
        sudo sh "$0" --install $missing
    fi
}

missing_packages() {
    for packages in $(sed 's/ *#.*//' "$1"); do # A|B is A, unless B is there
        dpkg-query -W -f='${Status}\n' $(echo "$packages" | tr '|' ' ') 2> /dev/null | grep -q 'ok installed' \
            || echo "${packages%%|*}"
    done
}

guard_is_ours() { # it stays if this script is killed
    grep -q "$OURS" "$GUARD" 2> /dev/null
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    if [ ! -e "$GUARD" ] || guard_is_ours; then # another one stays as it is
        trap 'rm -f "$GUARD"' EXIT
        trap 'exit 130' INT TERM HUP # dash runs the trap above only when the script exits
        # It holds as long as this script runs, also if nobody removes it.
        printf '#!/bin/sh\n# %s\n[ ! -d /proc/%s ] || exit 101\n' "$OURS" $$ > "$GUARD"
        chmod +x "$GUARD"
    fi
    [ $# -gt 0 ] || return 0 # the guard alone was to go
    before=$(servers)
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends "$@" > /dev/null
    for server in $(servers); do
        case " $before " in *" $server "*) ;; *) disable "$server" ;; esac
    done
}

servers() { # that are installed, on one line
    for server in $SERVERS; do
        for folder in /etc /usr/lib /lib; do
            if [ -e "$folder/systemd/system/$server" ]; then
                printf '%s ' "$server"
                break
            fi
        done
    done
}

disable() {
    if [ -d /run/systemd/system ]; then
        systemctl --quiet disable --now "$1" 2> /dev/null || true
    elif command -v systemctl > /dev/null; then
        systemctl --quiet disable "$1" 2> /dev/null || true
    fi
}

if [ "$1" = --install ]; then
    shift
    install_packages "$@"
else
    main "$1"
fi
