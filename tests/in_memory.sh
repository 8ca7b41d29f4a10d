# Runs a command with its temporary files in memory, gone when it ends, where that may be had: by root, on a
# Linux with room to spare. Elsewhere, or where TMPDIR says where they go, it is run as it is.
needed_kb=8000000
free_kb=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null)
if [ -n "$TMPDIR" ] || [ "$(id -u)" -ne 0 ] || [ "${free_kb:-0}" -lt "$needed_kb" ]; then
    exec "$@"
fi
folder=$(mktemp -d /tmp/tests.XXXXXX) || exit 1
trap 'rmdir "$folder"' EXIT
mount="mount -t tmpfs -o mode=0700,size=${needed_kb}k tmpfs"
if unshare --mount --propagation private $mount "$folder" 2>/dev/null; then
    # Seen by this command alone: whatever becomes of it, nothing stays mounted.
    TMPDIR=$folder unshare --mount --propagation private sh -c "$mount \"\$TMPDIR\" && exec \"\$@\"" sh "$@"
else
    "$@"
fi
