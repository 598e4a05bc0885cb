#!/bin/sh
# Installs the Debian packages of a list that are missing: install-packages.sh LIST (packages.txt, packages-vm.txt).
#
# Of web, SSH, FTP and database servers only the program is needed: those that are installed here are neither started now
# nor at boot. Servers that were installed before stay as they are.
set -eu

SERVICES="nginx:nginx postgresql:postgresql openssh-server:ssh.socket openssh-server:ssh.service vsftpd:vsftpd"
GUARD=/usr/sbin/policy-rc.d # Debian's packages ask it whether they may start their services
OURS="Flightpath's, while it installs packages"

main() {
    missing=$(missing_packages "$1")
    if [ -z "$missing" ]; then return; fi
    echo "installing Debian packages:" $missing
    if [ "$(id -u)" = 0 ]; then
        install_packages $missing
    else
        sudo sh "$0" --install $missing
    fi
}

missing_packages() {
    for package in $(sed 's/ *#.*//' "$1"); do
        dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || echo "$package"
    done
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    # Another one stays as it is; ours is still there if this script was killed.
    if [ ! -e "$GUARD" ] || grep -q "$OURS" "$GUARD"; then
        trap 'rm -f "$GUARD"' EXIT
        trap 'exit 130' INT TERM HUP # dash runs the trap above only when the script exits
        printf '#!/bin/sh\n# %s\nexit 101\n' "$OURS" > "$GUARD"
        chmod +x "$GUARD"
    fi
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends "$@" > /dev/null
    for service in $SERVICES; do
        case " $* " in *" ${service%%:*} "*) disable "${service#*:}" ;; esac
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
