#!/bin/bash
# Boots kernels of the distribution under qemu's emulation, and runs the tests there that depend on the kernel. For root on Debian.
# usage: kernels.sh [-d DIR] [-k PATTERN] [JOB]
#   DIR      keeps kernels, programs, results and kernels.md, the table of doc/kernels.md (~/.cache/ptools-kernels)
#   PATTERN  only kernels whose release it matches, a grep expression
#   JOB      a shell script that runs in the guest instead of the tests
#
# The guest's root is the host's root file system, read-only, below a tmpfs: compilers and targets are those of the host. Kernels
# come from the archive that this machine is configured for, from the suites below, by an apt configuration of its own.
set -euo pipefail

dir=${XDG_CACHE_HOME:-$HOME/.cache}/ptools-kernels
only=.
while getopts d:k: o; do
	case $o in
	d) dir=$OPTARG ;;
	k) only=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
job=${1:-}
[ "$(id -u)" = 0 ] || { echo "kernels.sh: must be root" >&2; exit 1; }
src=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mkdir -p "$dir" && realpath "$dir")

# The packages of kernels, and where their newest version is searched.
suites="bullseye bookworm trixie sid"
kernels='^linux-image-5\.10\..*-cloud-amd64$
^linux-image-6\.1\..*-cloud-amd64$
^linux-image-6\.12\..*-cloud-amd64$
^linux-(binary|modules)-[7-9]\..*-cloud-amd64$'

install() {
	local missing=
	for p in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio; do
		command -v "${p%:*}" >/dev/null || missing="$missing ${p#*:}"
	done
	[ -z "$missing" ] || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $missing >/dev/null; }
	for virtiofsd in /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd; do
		[ ! -x $virtiofsd ] || return 0
	done
	echo "kernels.sh: no virtiofsd, which shares the root with the guest" >&2
	exit 1
}

apt_() {
	local command=$1
	shift
	"$command" -o Dir::Etc::SourceList="$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$dir/apt/lists" \
		-o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=root "$@"
}

fetch() {
	[ ! -e "$dir/fetched" ] || return 0
	mkdir -p "$dir"/apt/lists/partial "$dir"/apt/cache/archives/partial "$dir"/debs "$dir"/kernels
	local uri
	uri=$(awk '/^URIs:/ {print $2; exit} $1 == "deb" {print $2; exit}' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
	for s in $suites; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $s main"
	done >"$dir/apt/sources.list"
	apt_ apt-get update -qq
	while read -r pattern; do
		# The modules of a kernel may be a package of their own, of the same version.
		local version
		version=$(apt_ apt-cache search --names-only "$pattern" | sed 's/^linux-[a-z]*-\([^ ]*\).*/\1/' | sort -V | tail -1)
		[ -n "$version" ] || { echo "kernels.sh: no package $pattern" >&2; exit 1; }
		(cd "$dir/debs" && for p in $(apt_ apt-cache search --names-only "$pattern" | awk '{print $1}' | grep -F -- "-$version"); do
			apt_ apt-get download -qq "$p"
			dpkg-deb -x "$p"_*.deb "$dir/kernels/$version"
		done)
	done <<<"$kernels"
	touch "$dir/fetched"
}

# initramfs makes the first file system: it mounts the root and gives over to it.
initramfs() {
	local root=$1/root modules=$2
	rm -rf "$root"
	mkdir -p "$root"/{bin,modules,proc,sys,dev,host,upper,new}
	cp "$(command -v busybox)" "$root/bin/busybox"
	for m in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci fuse virtiofs overlay unix_diag; do
		local file
		file=$(find "$modules" -name "$m.ko*" | head -1)
		case $file in
		'') continue ;; # built in
		*.xz) xz -dc "$file" >"$root/modules/$m.ko" ;;
		*) cp "$file" "$root/modules/$m.ko" ;;
		esac
		echo "$m.ko" >>"$root/modules/order"
	done
	cat >"$root/init" <<-'I'
		#!/bin/busybox sh
		b=/bin/busybox
		$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
		for m in $($b cat /modules/order); do $b insmod /modules/$m; done
		$b mount -t virtiofs -o ro host /host
		$b mount -t tmpfs upper /upper; $b mkdir /upper/up /upper/work
		$b mount -t overlay -o lowerdir=/host,upperdir=/upper/up,workdir=/upper/work root /new
		for d in proc sys dev; do $b mount --move /$d /new/$d; done
		exec $b switch_root /new /bin/sh -c '
			mount -t devpts pts /dev/pts 2>/dev/null || { mkdir -p /dev/pts; mount -t devpts pts /dev/pts; }
			mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs run /run; mkdir -m 1777 /run/tmp
			mount -t tracefs t /sys/kernel/tracing 2>/dev/null; mount -t cgroup2 cg /sys/fs/cgroup
			chmod 1777 /dev/shm
			export PTOOLS_SLOW=10 HOME=/root TMPDIR=/run/tmp PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
			ip link set lo up; mkdir -p /run/share; mount -t virtiofs share /run/share
			ulimit -Hn 65536; ulimit -Sn 1024
			cd /run/share; sh ./job.sh >out 2>&1; echo $? >status; sync; echo o >/proc/sysrq-trigger; sleep 10'
	I
	chmod +x "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$1/initramfs.gz"
}

# boot runs share/job.sh of a kernel's directory in the guest, for at most so many seconds.
boot() {
	local at=$1 kernel=$2 seconds=$3
	rm -f "$at"/*.sock "$at"/share/{out,status}
	$virtiofsd --socket-path="$at/host.sock" -o source=/ -o sandbox=chroot -o cache=always >"$at/virtiofsd.log" 2>&1 &
	$virtiofsd --socket-path="$at/share.sock" -o source="$at/share" -o sandbox=chroot >>"$at/virtiofsd.log" 2>&1 &
	until [ -S "$at/host.sock" ] && [ -S "$at/share.sock" ]; do sleep 0.1; done
	# /dev/kvm may exist and hang: the processor is emulated.
	timeout "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 3072 \
		-object memory-backend-memfd,id=mem,size=3072M,share=on -numa node,memdev=mem \
		-chardev socket,id=host,path="$at/host.sock" -device vhost-user-fs-pci,chardev=host,tag=host \
		-chardev socket,id=share,path="$at/share.sock" -device vhost-user-fs-pci,chardev=share,tag=share \
		-kernel "$kernel" -initrd "$at/initramfs.gz" -append "console=ttyS0 quiet panic=-1 ${KERNEL_ARGS:-}" \
		-nographic -no-reboot >"$at/console" 2>&1 </dev/null || true
	wait
}

# programs builds the tests and the tools that the job runs.
programs() {
	mkdir -p "$dir/bin"
	for p in internal/ptrace internal/perfevent internal/mem internal/procfs internal/check internal/calls pctl/control cmd/pgrab cmd/psample cmd/pcalls; do
		(cd "$src" && go test -c -o "$dir/bin/$(echo $p | tr / -).test" "./$p")
	done
	gcc -O2 -o "$dir/bin/confine" "$src/scripts/confine.c"
	for p in pgrab psample psampled; do
		(cd "$src" && CGO_ENABLED=0 go build -o "$dir/bin/$p" "./cmd/$p")
	done
}

# compare is the part of the job that compares psample --check with what the tools do, with several kinds of rights.
compare() {
	cat <<-J
		pub=/run/tmp/pub; mkdir -p \$pub; cp $dir/bin/psample $dir/bin/pgrab $dir/bin/confine \$pub; chmod -R a+rx /run/tmp/pub
		astold() { as=\$1; shift; said=\$(bash $src/scripts/astold.sh \$pub "\$@"); rc=\$?; echo "psample --check as \$as: \$said"
			[ \$rc = 0 ] && echo "fact: psample --check as \$as: \$said" >>/run/share/astold.log ||
				echo "--- FAIL: psample --check as \$as" >>/run/share/astold.log; }
		astold root 0 env
		astold "an ordinary user" 65534 setpriv --reuid 65534 --regid 65534 --clear-groups
		astold "root with CAP_SYS_PTRACE alone" 0 \$pub/confine ptrace
		astold "root with Docker's filter" 0 \$pub/confine docker
	J
}

# tests is the job: the facts about the kernel, storms, and the tools' scripts.
tests() {
	cat <<-J
		run() { cd $src/\$1; name=\$(echo \$1 | tr / -); shift
			$dir/bin/\$name.test -test.short -test.v -test.timeout 60m "\$@" >/run/share/\$name.log 2>&1; echo "\$name \$?"; }
		uname -r
		$dir/bin/psample --check >/run/share/check.txt; cat /run/share/check.txt
		run internal/ptrace; run internal/procfs; run internal/mem; run internal/perfevent
		run pctl/control -test.run 'Storm|Probe|Exact|Killed|Linger|Fork|Exec|WithoutLeader'
		run cmd/pgrab -test.run 'Script|Killed|AsCalled'; run cmd/psample -test.run 'Script|AsCounted'
		run internal/calls; run cmd/pcalls
		PTOOLS_TORTURE=1 run internal/check; mv /run/share/cmd-pgrab.log /run/share/cmd-pgrab-short.log
		PTOOLS_TORTURE=1 run cmd/pgrab -test.run KilledHot
	J
	compare
	# A fact that a test has found is a row of the table.
	echo "sed -n \"s/.*fact: \(.*\): \(.*\)/\1  yes  \2/p\" /run/share/*.log | sort -u >>/run/share/check.txt"
}

# table writes what works on each kernel, by the reports of psample --check: a column a kernel, a row a feature.
table() {
	awk -F '  +' '
		FNR == 1 { k++; split($0, word, " "); head[k] = word[2] }
		/^ / || NF < 3 { next }
		$1 == "feature" { next }
		{
			if (!($1 in row)) { row[$1] = ++n; name[n] = $1 }
			cell[row[$1], k] = ($2 == "yes" ? "" : $2 ": ") $3
		}
		END {
			printf "| feature |"; for (j = 1; j <= k; j++) printf " %s |", head[j]; print ""
			printf "|---|"; for (j = 1; j <= k; j++) printf "---|"; print ""
			for (i = 1; i <= n; i++) {
				printf "| %s |", name[i]; for (j = 1; j <= k; j++) printf " %s |", cell[i, j]; print ""
			}
		}' "$@"
}

install
fetch
[ -n "$job" ] || programs
failed=0
for k in $(ls "$dir/kernels" | sort -V | grep -e "$only"); do
	at=$dir/run/$k
	rm -rf "$at"
	mkdir -p "$at/share"
	image=$(find "$dir/kernels/$k" -name 'vmlinuz*' | head -1)
	initramfs "$at" "$dir/kernels/$k"
	if [ -n "$job" ]; then cp "$job" "$at/share/job.sh"; else tests >"$at/share/job.sh"; fi
	echo "== $k"
	boot "$at" "$image" "${SECONDS_MAX:-5400}"
	cat "$at/share/out" 2>/dev/null || { echo "did not boot:"; tail -5 "$at/console"; }
	[ "$(cat "$at/share/status" 2>/dev/null)" = 0 ] || failed=1
	grep -h '^ *--- \(FAIL\|SKIP\)' "$at"/share/*.log 2>/dev/null || true
	! grep -q '^--- FAIL' "$at"/share/*.log 2>/dev/null || failed=1
done
checks=$(ls "$dir"/run/*/share/check.txt 2>/dev/null | sort -V)
[ -z "$checks" ] || table $checks >"$dir/kernels.md"
exit $failed
