#!/bin/sh
# The first process in the virtual-time kernel. Its root is the host's, read-only, so it puts a layer in memory over it, makes
# the file systems that programs expect, and runs the command in the folder that the host shares.
# OpenSSL adds the processor's own counter and random numbers to the kernel's, which are the same in each seeded guest.
export OPENSSL_ia32cap="~0x4000000000000010"
# Programs keep memory that they have freed: here each page that they get anew takes as long as thousands of instructions.
export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456:glibc.malloc.top_pad=1048576
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
# In a container root's files may seem to be nobody's: then set-user-ID programs, such as mount, must stay root's here.
[ "$(stat -c %u "$(command -v mount)")" = 0 ] || [ -n "$KEEPS_ROOT" ] || KEEPS_ROOT=yes exec setpriv --no-new-privs "$0"
# Newer versions of mount (Debian 13) would pass hostfs its folder as a named option, and older ones have no name for it.
export LIBMOUNT_FORCE_MOUNT2=always
root=/mnt/root
# mount looks into /run, where the host's systemd notes when it was reloaded, so it is the guest's own before all else.
mount -n -t tmpfs run /run
mount -t proc proc /proc
mount -t tmpfs layer /mnt
mkdir /mnt/upper /mnt/work /mnt/shared $root
# The kernel's process on the host is in the shared folder. Its name must not be among the kernel's arguments, because
# they become part of its random numbers.
mount -t hostfs none /mnt/shared -o /proc/self/cwd
# TERMINAL: whether somebody sits at the console.
. /mnt/shared/variables
umount /mnt/shared
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work $root
cd $root || exit
mount -t proc proc proc
mount -t sysfs sys sys
mount -t tmpfs -o mode=0755 run run
mount -t devtmpfs dev dev
mkdir -p dev/shm dev/pts dev/net
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t devpts -o ptmxmode=0666 pts dev/pts
ln -sf pts/ptmx dev/ptmx
ln -sfn /proc/self/fd dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -sf "/proc/self/fd/${number%:*}" "dev/${number#*:}"; done
[ -e dev/net/tun ] || mknod dev/net/tun c 10 200
chmod 0666 dev/net/tun
mkdir -p ./mnt/shared && mount -t hostfs none ./mnt/shared -o /proc/self/cwd
# Folders whose changes stay on the host: a line each with its path here; on the host it is a link, whose path has no comma.
# A path's length must not matter: each system call changes the random numbers, so neither command reads it part by part.
count=0
while IFS= read -r folder; do
    [ -d ".$folder" ] || mkdir -p ".$folder"
    mount --no-canonicalize -t hostfs none ".$folder" -o "/proc/self/cwd/writable-$count"
    count=$((count + 1))
done < mnt/shared/writable
ip link set lo up
hostname lab
# TCP may use most of the memory, in pages. With the default, a tenth, fast paths with long delays stall under MPTCP.
while read -r name size _; do
    [ "$name" = MemTotal: ] && echo "$((size / 16)) $((size / 8)) $((size * 3 / 16))" > /proc/sys/net/ipv4/tcp_mem
done < /proc/meminfo
# Open vSwitch counts processors only 10 s after the clock began, and starts no thread for new flows before.
sleep 11
export TERMINAL
unset LIBMOUNT_FORCE_MOUNT2
exec chroot . /bin/sh -c 'exec > /mnt/shared/stdout 2> /mnt/shared/stderr < /mnt/shared/stdin
: > /mnt/shared/booted
read -r began _ < /proc/uptime
if [ -n "$TERMINAL" ]; then
    setsid --ctty --wait sh /mnt/shared/command < /dev/tty0 > /dev/tty0 2>&1
else
    sh /mnt/shared/command
fi
echo $? > /mnt/shared/status.part
read -r ended _ < /proc/uptime
echo "$began $ended" > /mnt/shared/uptimes
mv /mnt/shared/status.part /mnt/shared/status
poweroff -f > /dev/null 2>&1'
