# Runs in the VM as root, before the command: without it the VM could write nothing and had no kernel modules.
# Arguments: the folder shared with the host, in which `command` is a shell script, the folder of the modules, the name
# under which QEMU offers the machine's root, and perhaps another folder in which the command may write.
#
# That root (read-only, over 9p) gets a writable layer in memory and becomes the root of everything, also of what the
# kernel itself starts: it loads modules on demand through /sbin/modprobe. It is mounted with a cache that never asks
# again, for the host's files are taken not to change under a running VM (the shared folder is mounted without).
set -eu
shared=$1 modules=$2 tag=$3
shift 3
exec > "$shared/stdout" 2> "$shared/stderr"

modprobe -d "${modules%/lib/modules/*}/" overlay
layer=/run/layer root=/run/layer/root
mkdir "$layer"
mount -t tmpfs layer "$layer"
mkdir "$layer/lower" "$layer/upper" "$layer/work" "$root"
mount -t 9p -o "ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose" "$tag" "$layer/lower"
mount -t overlay -o "lowerdir=$layer/lower,upperdir=$layer/upper,workdir=$layer/work" overlay "$root"
mkdir -p "$root/lib/modules" "$root/before"
ln -sfn "$modules" "$root/lib/modules/$(uname -r)"
for inherited in /proc /sys /dev "$shared" "$@"; do
    mount --rbind "$inherited" "$root$inherited"
done
cd "$root"
pivot_root . before
umount -l /before
mount -t tmpfs -o mode=0755 run /run
modprobe -aq tun veth || true

: > "$shared/booted"
set +e
sh "$shared/command" < /dev/null
echo $? > "$shared/status.part"
mv "$shared/status.part" "$shared/status"
