# Runs in the VM as root before the command: makes the file system writable and the kernel's modules available.
# Arguments: the folder shared with the host, which contains the command as the script `command`; the folder of the
# modules; the name under which QEMU offers the host's root; and optionally another folder that the command may write to.
#
# The host's root (read-only, over 9p) gets a writable layer in memory and becomes the root of all processes, also of
# those that the kernel starts: it loads modules with /sbin/modprobe. It is mounted with a cache that is never checked
# again, because the host's files should not change while the VM runs (the shared folder is mounted without a cache).
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
sh "$shared/command" < "$shared/stdin"
echo $? > "$shared/status.part"
mv "$shared/status.part" "$shared/status"
