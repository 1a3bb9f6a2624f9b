# Everything a newcomer or a build machine runs. `make` alone lists the targets.

FUZZTIME ?= 60s
TRIALS ?= 500
SEEDS ?= 1000
EVENTS ?= 24

# Of make adversary: which web (and of make sim: the first seed; of make gate and make chaos: of the faults), for how long, within how much memory.
SEED ?= 1
MINUTES ?= 3
MEMORY ?= 256MiB
CGROUP ?= 400M

# No part needs C: without it a first build takes half the time and makes one static file.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help build demo setup test release real-sites test-real-sites looks check race damage fuzz bench adversary sim gate chaos

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/freshet
	go build -trimpath -o bin/freshet ./cmd/freshet

release: ## build binaries, Debian packages, SBOMs and checksums into bin/release; ARGS=--check compares two builds
	@scripts/release $(ARGS)

demo: build ## crawl a changing web of its own on loopback, and keep the copy fresh: a minute and a half
	bin/freshet demo

setup: ## install what the tests need beside Go; quick when it is there
	@scripts/setup

test: setup ## run all tests, as every change must pass them
	go test -timeout 20m ./...

real-sites: ## fetch the real sites (108 MB, 1.6 GB unpacked) and record their webs for the lab
	go run ./internal/sites/fetch

test-real-sites: setup ## crawl all real sites, alone and as a cluster, and compare with an independent walk
	FRESHET_ALL_SITES=1 go test -count=1 -timeout 3h -run 'TestRealSites|TestClusterOf' -v ./internal/e2e

looks: setup ## compare pictures of 200 pages of three real sites with those of their replay
	FRESHET_LOOKS=200 go test -count=1 -timeout 60m -run TestReplayLooksAsSites -v ./internal/e2e

check: .tools/built ## lint, check words, links and commands of docs, and look for known vulnerabilities
	go test ./internal/house
	FRESHET_DOC_BENCHMARKS=1 go test -run OfDocs ./cmd/freshet
	go -C bench vet ./...
	.tools/golangci-lint run
	.tools/govulncheck ./...

race: setup ## run all tests with the race detector
	CGO_ENABLED=1 go test -race -timeout 60m ./...

damage: ## damage a directory at random TRIALS times (500 by default), and repair it
	FRESHET_DAMAGE_TRIALS=$(TRIALS) go test -count=1 -timeout 60m -run TestDamage ./internal/damage -v | grep -v '^ '

fuzz: ## fuzz every target for FUZZTIME, 60s by default
	@scripts/fuzz $(FUZZTIME)

adversary: build ## crawl 200 hosts that mean harm beside 20 honest ones: SEED, MINUTES, MEMORY, CGROUP
	go run ./internal/adversary/run -seed $(SEED) -minutes $(MINUTES) -memory $(MEMORY) -cgroup $(CGROUP)

sim: ## put the shard on trial in SEEDS simulated crawls with faults (1000 by default), from SEED on
	go run ./sim/trial/run -seed $(SEED) -seeds $(SEEDS)

gate: ## try the log of a cluster, on three NATS servers, with EVENTS faults from SEED on
	go run ./internal/gate -seed $(SEED) -events $(EVENTS)

chaos: ## have three nodes crawl over three NATS servers, with EVENTS faults from SEED on
	go run ./internal/chaos -seed $(SEED) -events $(EVENTS)

bench: ## run all benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.tools/built: tools/go.mod tools/go.sum
	go build -C tools -o ../.tools/ tool
	@touch $@
