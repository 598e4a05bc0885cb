#!/bin/sh
# The first process in the lab kernel. Its root is the host's, read-only, so it puts a layer in memory over it, makes
# the file systems that programs expect, and runs the command of the folder that the host shares, $LAB_SHARED.
# $LAB_WRITABLE is another folder whose changes stay on the host.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
root=/mnt/root
mount -t proc proc /proc
mount -t tmpfs layer /mnt
mkdir /mnt/upper /mnt/work $root
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
[ -e dev/net/tun ] || mknod dev/net/tun c 10 200
chmod 0666 dev/net/tun
for folder in "$LAB_SHARED" "$LAB_WRITABLE"; do
    [ -n "$folder" ] && mkdir -p ".$folder" && mount -t hostfs none ".$folder" -o "$folder"
done
ip link set lo up
hostname lab
# TCP may use most of the memory, in pages. With the default, a tenth, fast paths with long delays stall under MPTCP.
while read -r name size _; do
    [ "$name" = MemTotal: ] && echo "$((size / 16)) $((size / 8)) $((size * 3 / 16))" > /proc/sys/net/ipv4/tcp_mem
done < /proc/meminfo
# Open vSwitch counts processors only 10 s after the clock began, and starts no thread for new flows before.
sleep 11
exec chroot . /bin/sh -c 'exec > "$LAB_SHARED/stdout" 2> "$LAB_SHARED/stderr" < /dev/null
: > "$LAB_SHARED/booted"
sh "$LAB_SHARED/command"
echo $? > "$LAB_SHARED/status.part"
mv "$LAB_SHARED/status.part" "$LAB_SHARED/status"
poweroff -f > /dev/null 2>&1'
