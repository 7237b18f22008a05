# Targets:
#   build    bin/pgrab, bin/psample, bin/pcalls, bin/psampled, bin/functrace
#   install  the tools, their man pages and completions, below PREFIX (/usr/local), of DESTDIR if that is set
#   test     everything a change must pass; installs what it needs, or says what is missing
#   demo     psample's built-in workload, profiled
#   bench    side by side with the peers
#   columns  the benchmarks of psample alone: are its columns true, what does it cost
#   torture  the storms at full length
#   zoo      the tools against real programs of the distribution, which it installs
#   kernels  the tests that depend on the kernel, on those of the distribution from 5.10 on, under qemu; for root
#   test-arm64  the packages that work on arm64, in a guest of qemu; as root on Debian
#   confined the tests with the rights that a container gives, by scripts/confined.sh; for root
#   chains   how many stacks of which programs are followed to their end: a table
#   clean    removes bin and what the tests compiled

GO        ?= go
# Packages whose tests run at the same time. Each starts processes of its own; more than the
# machine's processors only makes the storms wait for each other.
JOBS      ?= 2
TESTFLAGS ?= -race -shuffle=on
# Tests of the commands that run with the race detector, and only with it. Each starts its command hundreds of times, and one that was built for
# the detector takes a second to start in some virtual machines.
RACED     ?= Scripts|Serve|Reload|Running
# Tests of the commands that only go test ./cmd/... and torture run: what they do to a target pctl/control's storms do without a
# command, and TestStorms and TestKilledBetweenSignals of the commands with one.
LENGTHY   ?= InPassing|KilledHoldingSignals|FollowStorms|FollowStops

# Packages whose tests take longest begin first, so that they do not end alone. Those that compare shares do not run beside storms.
LONG      ?= ./pctl/control ./internal/unwind ./pctl ./internal/sample
# Packages that run without the race detector, which takes five times as long there: they read files and decode instructions. pctl and
# psampled, which do that in several goroutines, have it.
PLAIN     ?= ./internal/hostile ./internal/elfsym ./internal/x86

.PHONY: install build test test-arm64 check unit demo bench columns torture zoo chains confined kernels clean tools

# Nothing here needs cgo. Without it the binaries are static, so that they run in any container
# and start without a dynamic linker (pgrab --help: two thirds of the time).
build:
	CGO_ENABLED=0 $(GO) build -o bin/pgrab ./cmd/pgrab
	CGO_ENABLED=0 $(GO) build -o bin/psample ./cmd/psample
	CGO_ENABLED=0 $(GO) build -o bin/pcalls ./cmd/pcalls
	CGO_ENABLED=0 $(GO) build -o bin/psampled ./cmd/psampled
	CGO_ENABLED=0 $(GO) build -o bin/functrace ./examples/functrace

PREFIX ?= /usr/local

install: build
	@for tool in pgrab psample pcalls psampled; do \
		install -D -m 755 bin/$$tool "$(DESTDIR)$(PREFIX)/bin/$$tool" && \
		bin/$$tool --print man >bin/$$tool.1 && \
		install -D -m 644 bin/$$tool.1 "$(DESTDIR)$(PREFIX)/share/man/man1/$$tool.1" && \
		bin/$$tool --print bash >bin/$$tool.bash && \
		install -D -m 644 bin/$$tool.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$tool" && \
		bin/$$tool --print zsh >bin/$$tool.zsh && \
		install -D -m 644 bin/$$tool.zsh "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_$$tool" && \
		bin/$$tool --print fish >bin/$$tool.fish && \
		install -D -m 644 bin/$$tool.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/$$tool.fish" || exit 1; \
	done
	@echo "installed below $(DESTDIR)$(PREFIX)"

# One recipe, so that it stops at the first failure whatever -j says.
test: tools
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory unit

# What can be said without running the code. gofmt prints names and succeeds: any output is a failure. vet compiles for the
# other systems too. The tests of this folder are about the sources; unit leaves them out.
check:
	@echo gofmt -s; out=$$(gofmt -s -l .) && test -z "$$out" || { echo "not formatted (gofmt -s -w):"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 .

# Storms are short here: longer ones by go test without -short, and by torture. Check has run vet. The processor is said first: what differs
# between vendors fails on one of them only.
unit:
	@grep -m 6 -E '^(vendor_id|cpu family|model|model name|stepping|microcode)' /proc/cpuinfo; uname -sr
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test)" $(GO) test -vet=off $(TESTFLAGS) -short -p $(JOBS) -timeout 14m $$($(GO) list $(LONG)) \
		$$($(GO) list ./... | sed 1d | grep -v /cmd/ | grep -vxF "$$($(GO) list $(PLAIN))")
	@echo the commands, their storms at short length, and what needs no race detector
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test)" $(GO) test -vet=off -shuffle=on -short -skip '$(LENGTHY)|$(RACED)' -p $(JOBS) -timeout 14m $(PLAIN) ./cmd/...
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test)" $(GO) test -vet=off $(TESTFLAGS) -short -p $(JOBS) -timeout 14m -run '$(RACED)' ./cmd/...
	@echo how soon profiles are served, without the race detector
	$(GO) test -vet=off -short -run 'TestProfiles$$' ./pctl/serve
	@echo uprobes as on kernels before Linux 6.6
	PTOOLS_PROBES=events $(GO) test -vet=off $(TESTFLAGS) -short -run 'Probe|Counter|Signals|Switch|Linger|KillRisk|Trap' ./internal/perfevent ./pctl/control
	PTOOLS_PROBES=events $(GO) test -vet=off $(TESTFLAGS) -short -run 'GoEndings|FirstThreadEnds|MappedAgain' ./internal/calls

kernels:
	@./scripts/kernels.sh

# PACKAGES='internal/ptrace internal/mem' chooses what is tested.
test-arm64:
	@./scripts/arm64.sh $(PACKAGES)

tools:
	@./scripts/tools.sh test

demo:
	$(GO) run ./cmd/psample --demo

bench:
	$(GO) run ./bench

# BENCHFLAGS=-quick takes a fifth of the time; BENCHFLAGS='-psample FILE' measures another psample.
columns:
	$(GO) run ./bench -run '^(share error|sum of|stops|slowdown|2 busy|first look|two threads|CPU of|spurious|whole)|beside perf' $(BENCHFLAGS)

torture: tools
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test)" PTOOLS_TORTURE=1 $(GO) test -count=1 -v -p 1 -timeout 4h ./...

zoo:
	@./scripts/tools.sh test zoo
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test zoo)" PTOOLS_ZOO=1 $(GO) test -count=1 -v -p 1 -timeout 1h -run Zoo ./...

# CONFINED='-p user ./pctl/...' chooses the profile and the packages, FLAGS=-test.short what is tested of them.
confined:
	@./scripts/tools.sh test
	FLAGS='$(FLAGS)' ./scripts/confined.sh $(CONFINED)

chains:
	@./scripts/tools.sh test zoo
	PTOOLS_REQUIRE="$$(./scripts/tools.sh -l test zoo)" PTOOLS_TORTURE=1 PTOOLS_ZOO=1 $(GO) test -count=1 -v -timeout 1h -run TestWholeChains ./internal/sample

clean:
	rm -rf bin
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/ptools-test"
