#!/bin/sh
# Compares what psample --check says with what psample and pgrab do, with the same rights. For root.
# usage: astold.sh DIR UID [COMMAND…]   DIR has psample and pgrab; COMMAND executes its arguments with fewer rights, as user UID
# It prints a line for each difference, and is 1 then.
set -u
dir=$1 uid=$2
shift 2
cd /
setpriv --reuid "$uid" --regid "$uid" --clear-groups sleep 1000 & own=$!
setpriv --reuid 1 --regid 1 --clear-groups sleep 1000 & other=$!
trap 'kill $own $other' EXIT
check=$("$@" "$dir/psample" --check) || exit 2
status=0 lines=0

# tried FEATURE COMMAND…: the command fails exactly if the check says anything but yes about the feature.
tried() {
	feature=$1
	shift
	said=$(printf '%s\n' "$check" | awk -F '  +' -v f="$feature" '$1 == f {print $2}')
	why=$("$@" 2>&1 >/dev/null </dev/null) && does=yes || does=no
	lines=$((lines + 1))
	case $said:$does in
	yes:yes | instead:no | no:no) ;;
	*) status=1; echo "$feature: said $said, is $does: $why" ;;
	esac
}

tried timers "$@" "$dir/psample" --timers only -q -t 0.3 -- "$dir/pgrab" --help
tried uprobes "$@" "$dir/pgrab" --trap uprobe -s none -q -b main.main -- "$dir/pgrab" --help
tried "grabs of own processes" "$@" "$dir/pgrab" -s none -q -- "$dir/pgrab" --help
tried "grabs of processes that are no descendants" "$@" "$dir/pgrab" -s none -q -t 0.1 -p $own
tried "grabs of other users' processes" "$@" "$dir/pgrab" -s none -q -t 0.1 -p $other
tried "kernel symbols" "$@" sh -c 'grep -q "^[0-9a-f]*[1-9a-f][0-9a-f]* [tT]" /proc/kallsyms'
tried "files without a name" "$@" sh -c 'for f in /proc/$$/map_files/*; do head -c 1 "$f" && exit; done; exit 1'
tried "kernel types (BTF)" "$@" head -c 1 /sys/kernel/btf/vmlinux
[ $status != 0 ] || echo "$lines lines are true"
exit $status
