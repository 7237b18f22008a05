#!/bin/bash
# Runs tests of the module on arm64: cross-compiled, in a guest of qemu's emulation, with a kernel of the distribution. For root on Debian.
# usage: arm64.sh [-d DIR] [-j JOB] [-f FLAGS] [PACKAGE...]
#   DIR      keeps packages, programs and results (~/.cache/ptools-arm64)
#   JOB      a shell script that runs in the guest instead of tests; the tools are in $SHARE/bin
#   FLAGS    flags for the test binaries (-test.short -test.v)
#   PACKAGE  directories whose tests run; by default those that are known to work, below
#
# The guest's root is an initramfs of busybox and the C library of the cross compilers. It shares one directory with the host, at the
# same path: tests have their cache there, and a compiler that they call is a script that has the host compile in place.
set -euo pipefail

dir=${XDG_CACHE_HOME:-$HOME/.cache}/ptools-arm64
job=
flags="-test.short -test.v"
while getopts d:j:f: o; do
	case $o in
	d) dir=$OPTARG ;;
	j) job=$(realpath "$OPTARG") ;;
	f) flags=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- internal/a64 internal/ptrace internal/perfevent internal/mem internal/procfs internal/unwind
[ "$(id -u)" = 0 ] || { echo "arm64.sh: must be root" >&2; exit 1; }
src=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mkdir -p "$dir" && realpath "$dir")
share=$dir/share
packages='^linux-image-6\.12\..*-cloud-arm64$
^busybox-static$'

# install brings the emulator and the cross compilers, which are packages of this machine's own suite.
install() {
	local missing= p
	for p in qemu-system-aarch64:qemu-system-arm aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu cpio:cpio; do
		command -v "${p%:*}" >/dev/null || missing="$missing ${p#*:}"
	done
	[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || missing="$missing libc6-dev-arm64-cross"
	[ -z "$missing" ] || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
	for virtiofsd in /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd; do
		[ ! -x $virtiofsd ] || return 0
	done
	echo "arm64.sh: no virtiofsd, which shares a directory with the guest" >&2
	exit 1
}

# apt_ runs a command of apt with an architecture, lists and a cache of its own: nothing of this machine's configuration changes.
apt_() {
	local command=$1
	shift
	"$command" -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null \
		-o Dir::Etc::SourceList="$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$dir/apt/lists" \
		-o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# fetch unpacks the guest's packages. The kernel is of a later suite than this machine's: uprobe_multi needs Linux 6.6.
fetch() {
	[ ! -e "$dir/fetched" ] || return 0
	mkdir -p "$dir"/apt/lists/partial "$dir"/apt/cache/archives/partial "$dir"/debs
	rm -rf "$dir/guest"
	local uri pattern name
	uri=$(awk '/^URIs:/ {print $2; exit} $1 == "deb" {print $2; exit}' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" >"$dir/apt/sources.list"
	apt_ apt-get update -qq
	while read -r pattern; do
		name=$(apt_ apt-cache search --names-only "$pattern" | awk '{print $1}' | sort -V | tail -1)
		[ -n "$name" ] || { echo "arm64.sh: no package $pattern" >&2; exit 1; }
		(cd "$dir/debs" && apt_ apt-get download -qq "$name" && dpkg-deb -x "$name"_*.deb "$dir/guest")
	done <<<"$packages"
	touch "$dir/fetched"
}

# initramfs makes the guest's file system.
initramfs() {
	local root=$dir/root m file
	rm -rf "$root"
	mkdir -p "$root"/{bin,lib,modules,usr/bin,proc,sys,dev,tmp,run,etc,root}
	cp "$(find "$dir/guest" -path '*bin/busybox' | head -1)" "$root/bin/busybox"
	for m in unix_diag inet_diag tcp_diag udp_diag; do # virtiofs, ext4 and the rest are built in
		file=$(find "$dir/guest" -name "$m.ko*" | head -1)
		[ -n "$file" ] || continue
		xz -dc "$file" >"$root/modules/$m.ko"
		echo "$m" >>"$root/modules/order"
	done
	(cd /usr/aarch64-linux-gnu/lib && cp -a ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libgcc_s.so.1 libstdc++.so.6* "$root/lib/")
	cat >"$root/usr/bin/gcc" <<-'I'
		#!/bin/sh
		# Has the host compile. The present directory is shared.
		case $1 in --version|version) echo "cross ${0##*/}"; exit 0;; esac
		at=$SHARE/requests/$$-$(tr -d ' .' </proc/uptime)
		{ echo "${0##*/}"; pwd; for a; do printf '%s\n' "$a"; done; } >$at.new
		mv $at.new $at.request
		until [ -e $at.status ]; do usleep 20000; done
		cat $at.output
		exit $(cat $at.status)
	I
	for m in g++ go; do cp "$root/usr/bin/gcc" "$root/usr/bin/$m"; done
	cat >"$root/init" <<-'I'
		#!/bin/busybox sh
		/bin/busybox mkdir -p /sbin
		/bin/busybox --install -s /bin
		export PATH=/bin:/usr/bin HOME=/root
		mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
		mkdir -p /dev/pts /dev/shm; mount -t devtmpfs pts /dev/pts 2>/dev/null; mount -t devpts pts /dev/pts
		mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
		mount -t tracefs t /sys/kernel/tracing; mount -t cgroup2 cg /sys/fs/cgroup
		chmod 1777 /tmp /dev/shm
		echo 'root:x:0:0:root:/root:/bin/sh' >/etc/passwd; echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>/etc/passwd; echo 'root:x:0:' >/etc/group
		ip link set lo up
		for m in $(cat /modules/order); do insmod /modules/$m.ko; done
		ulimit -Hn 65536; ulimit -Sn 1024
		export SHARE=$(sed -n 's/.*share=\([^ ]*\).*/\1/p' /proc/cmdline)
		mkdir -p $SHARE; mount -t virtiofs share $SHARE
		export XDG_CACHE_HOME=$SHARE/cache TMPDIR=/tmp PTOOLS_SLOW=10
		cd $SHARE; sh ./job.sh >out 2>&1; echo $? >status
		sync; poweroff -f
	I
	chmod +x "$root/init" "$root"/usr/bin/*
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initramfs.gz"
}

# compile serves the guest's compilers until it is killed.
compile() {
	local r at a command
	while :; do
		for r in "$share"/requests/*.request; do
			[ -e "$r" ] || { sleep 0.05; continue; }
			at=${r%.request}
			mapfile -t a <"$r"
			rm "$r"
			case ${a[0]} in
			go) command="env GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go" ;;
			*) command=aarch64-linux-gnu-${a[0]} ;;
			esac
			(cd "${a[1]}" && $command "${a[@]:2}") >"$at.output" 2>&1 && echo 0 >"$at.new" || echo 1 >"$at.new"
			mv "$at.new" "$at.status"
		done
	done
}

# boot runs share/job.sh in the guest, for at most so many seconds.
boot() {
	rm -rf "$share"/{out,status,requests} "$dir/share.sock"
	mkdir -p "$share/requests"
	compile &
	local compiler=$!
	$virtiofsd --socket-path="$dir/share.sock" -o source="$share" -o sandbox=chroot -o cache=auto >"$dir/virtiofsd.log" 2>&1 &
	until [ -S "$dir/share.sock" ]; do sleep 0.1; done
	timeout "$1" qemu-system-aarch64 -machine virt,gic-version=3 -cpu max,pauth-impdef=on -accel tcg,thread=multi -smp 2 -m 2048 \
		-object memory-backend-memfd,id=mem,size=2048M,share=on -numa node,memdev=mem \
		-chardev socket,id=share,path="$dir/share.sock" -device vhost-user-fs-pci,chardev=share,tag=share \
		-kernel "$(find "$dir/guest/boot" -name 'vmlinuz*')" -initrd "$dir/initramfs.gz" \
		-append "console=ttyAMA0 rdinit=/init quiet panic=-1 share=$share" \
		-nographic -nodefaults -serial stdio -no-reboot >"$dir/console" 2>&1 </dev/null || true
	kill $compiler
	wait || true
}

# tests builds the binaries and prints the job: what fails and what is skipped, and why, is in the logs.
tests() {
	local p name
	rm -rf "$share"/{tests,src,logs}
	mkdir -p "$share"/{tests,src,logs}
	(cd "$src" && git ls-files -z | xargs -0 tar -c --ignore-failed-read 2>/dev/null) | tar -x -C "$share/src" # testdata, and what tests read of the module
	for p; do
		name=$(echo "$p" | tr / -)
		(cd "$src" && GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go test -c -o "$share/tests/$name" "./$p")
		cat <<-J
			cp \$SHARE/tests/$name /tmp; cd \$SHARE/src/$p
			/tmp/$name $(printf "%q " $flags) -test.timeout 30m >\$SHARE/logs/$name 2>&1 || failed=1; rm /tmp/$name
			echo "$p: \$(grep -c '^--- PASS' \$SHARE/logs/$name) passed, \$(grep -c '^--- FAIL' \$SHARE/logs/$name) failed, \$(grep -c '^--- SKIP' \$SHARE/logs/$name) skipped"
		J
	done
	echo 'exit ${failed:-0}'
}

install
fetch
initramfs
mkdir -p "$share/bin" "$share/cache"
if [ -n "$job" ]; then
	for p in pgrab psample pcalls psampled; do
		(cd "$src" && GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -o "$share/bin/$p" "./cmd/$p")
	done
	rm -rf "$share/logs"
	cp "$job" "$share/job.sh"
else
	tests "$@" >"$dir/job.sh"
	mv "$dir/job.sh" "$share/job.sh"
fi
boot "${SECONDS_MAX:-1500}"
cat "$share/out" 2>/dev/null || { echo "did not boot:"; tail -5 "$dir/console"; }
grep -h '^ *--- \(FAIL\|SKIP\)' "$share"/logs/* 2>/dev/null || true
[ "$(cat "$share/status" 2>/dev/null)" = 0 ]
