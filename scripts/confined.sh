#!/bin/sh
# Runs tests with the rights that a container gives: see the profiles in confine.c.
# usage: confined.sh [-p PROFILE] [PACKAGE...]     default: every profile, every package; needs root
#        FLAGS='-test.short -test.run=Grab' ./scripts/confined.sh -p user ./pctl
# The tests are compiled before, and run in a copy of this directory, which user 65534 may read.
set -eu
cd "$(dirname "$0")/.."

profiles="docker ptrace user"
while getopts p: flag; do
	case $flag in
	p) profiles=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
test $# -gt 0 || set -- ./...
if [ "$(id -u)" != 0 ]; then
	echo "confined.sh: only root can give its rights away" >&2
	exit 1
fi

GO=${GO:-go}
dir=$(mktemp -d "${TMPDIR:-/tmp}/confined-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$dir"
mkdir "$dir/tree" "$dir/test"
tar -cf - --exclude=./.git --exclude=./bin . | tar -xf - -C "$dir/tree" --no-same-owner
chmod -R a+rX "$dir/tree"
gcc -O2 -Wall -Wextra -o "$dir/confine" scripts/confine.c
require=$(./scripts/tools.sh -l test)
packages=$($GO list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' "$@")
root=$PWD

binary() { # of the tests of a package's directory
	echo "$dir/test${1#"$root"}/$(basename "$1").test"
}

for p in $packages; do
	mkdir -p "$(dirname "$(binary "$p")")"
	$GO test -c -o "$(binary "$p")" "$p"
done

# The copy is no work tree of git, which go build would ask. rustup looks for its compilers where it was installed.
run() { # PROFILE DIRECTORY: the tests of one package
	home=$dir/home-$1
	if ! test -d "$home"; then
		mkdir "$home" "$home/tmp"
		test "$1" != user || chown -R 65534:65534 "$home"
	fi
	(cd "$dir/tree${2#"$root"}" && exec env -u XDG_CACHE_HOME HOME="$home" TMPDIR="$home/tmp" GOCACHE="$home/go" GOFLAGS=-buildvcs=false \
		RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" PTOOLS_REQUIRE="$require" "$dir/confine" "$1" "$(binary "$2")" -test.timeout 14m ${FLAGS-} 2>&1)
}

status=0
for profile in $profiles; do
	for p in $packages; do
		rel=.${p#"$root"}
		if run "$profile" "$p" >"$dir/out"; then
			echo "ok   $profile $rel ($(tail -n 1 "$dir/out" | tr -d '\n'))"
		else
			status=1
			echo "FAIL $profile $rel"
			cat "$dir/out"
		fi
	done
done
exit $status
