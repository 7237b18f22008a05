#!/bin/sh
# Installs the programs that the tests start, or says exactly what is missing and how to get it.
# usage: tools.sh SET...      sets: test (what make test needs), zoo (the real programs of make zoo)
#        tools.sh -l SET...   only lists the programs of the sets
set -eu

# Each line: a command (or a file) that must exist, and the Debian package that brings it.
list() {
	case $1 in
	test) cat <<-'EOF'
		gcc gcc
		g++ g++
		/usr/include/stdio.h libc6-dev
		musl-gcc musl-tools
		gdb gdb
		eu-stack elfutils
		strace strace
		python3 python3
		chromium-headless-shell chromium-headless-shell
		EOF
		;;
	zoo) cat <<-'EOF'
		node nodejs
		ruby ruby
		perl perl
		lua5.4 lua5.4
		luajit luajit
		php php-cli
		sqlite3 sqlite3
		bash bash
		busybox busybox-static
		guile guile-3.0
		tclsh tcl
		zstd zstd
		xxd xxd
		top procps
		nginx nginx
		/usr/share/perl5/Devel/NYTProf/flamegraph.pl libdevel-nytprof-perl
		EOF
		;;
	*) echo "tools.sh: unknown set $1" >&2; exit 2 ;;
	esac
}

if [ "${1-}" = -l ]; then
	shift
	for set in "$@"; do
		list "$set" | while read -r have package; do
			echo "${have##*/}"
		done
	done
	exit 0
fi

missing=
for set in "$@"; do
	packages=$(list "$set" | while read -r have package; do
		case $have in
		/*) test -e "$have" || echo "$package" ;;
		*) command -v "$have" >/dev/null || echo "$package" ;;
		esac
	done)
	missing="$missing $packages"
done
missing=$(echo $missing)
test -n "$missing" || exit 0

if [ "$(uname -s)" != Linux ] || ! command -v apt-get >/dev/null; then
	echo "missing: $missing (names of Debian packages); install them with this system's package manager" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "missing: $missing; as root: apt-get update && apt-get install -y $missing" >&2
	exit 1
fi
echo "installing: $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $missing >/dev/null
