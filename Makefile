# One flag set for every Go command here: flags such as -trimpath do not share
# the build cache, and the cgo parts are slow to build twice.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

TOOLS := .tools
PLUGINS := protoc-gen-go protoc-gen-go-grpc protoc-gen-grpc-gateway protoc-gen-connect-go protoc-gen-openapi
LOCKED := mkdir -p $(TOOLS) && flock $(TOOLS)/lock
GO_FILES = $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -f "$$f" ] || echo "$$f"; done)

# A stripped binary without paths of the machine that built it. Inlining in code that is generated, that runs at the start, or
# that waits for a network or for people costs 5 MB and speeds nothing up that can be measured.
NOT_INLINED := latchkey.dev/cmd latchkey.dev/ent latchkey.dev/gen github.com/nats-io github.com/riverqueue github.com/antlr4-go github.com/alecthomas/kong \
	github.com/prometheus go.opentelemetry.io cel.dev/cel-go/parser cel.dev/cel-go/ext cel.dev/cel-go/checker go.yaml.in/yaml github.com/klauspost \
	github.com/go-webauthn github.com/google/go-tpm
# Without the tag, gRPC keeps traces in memory that no page of the server shows.
RELEASE := -trimpath -tags grpcnotrace -ldflags='-s -w' $(foreach p,$(NOT_INLINED),-gcflags='$(p)/...=-l')
# SQLite counts each allocation under a lock. Nothing reads the counts, and a change of a reservation takes 3 % more CPU with them.
build demo: export CGO_CFLAGS = -O2 -DSQLITE_DEFAULT_MEMSTATUS=0
MOST_BYTES := 79000000

FUZZTIME ?= 30s
SOAK ?= 50
SECONDS ?= 420
SEED ?= 1
ENGINE ?= sqlite
BENCH ?= .
# Compiler and linker spend a fifth of their time on collecting garbage that fits into memory.
EAGER := -toolexec='env GOGC=400'
# With the gold linker, a test binary that contains C is linked in half the time.
GOLD := $(shell command -v ld.gold)
# vet has run on its own, symbols for a debugger cost linking time in each of a hundred test binaries, and tests wait more than
# they compute.
LEAN := -vet=off -ldflags='-s -w$(if $(GOLD), -extldflags=-fuse-ld=gold)' -p 3 $(EAGER)
TESTTIME ?= 40m
# go test begins with the packages whose tests take longest, so that they do not run alone at the end.
LONGEST := ./internal/e2e/web ./internal/e2e ./internal/reservation ./internal/e2e/checkin ./internal/server
# Packages whose tests compute for long without a second goroutine: the model checker of the slots and the check of words.
WITHOUT_RACE := ./internal/lock/slot ./internal/test/repository

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-zA-Z_-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build and try

.PHONY: build
build: ## Build bin/latchkey and bin/latchkey-bridge
	@mkdir -p bin
	go build $(RELEASE) -o bin/latchkey ./cmd/latchkey
	CGO_ENABLED=0 go build $(RELEASE) -o bin/latchkey-bridge ./cmd/latchkey-bridge
	@size=$$(stat -c %s bin/latchkey); [ "$$size" -le $(MOST_BYTES) ] || { echo "bin/latchkey has $$size bytes, more than $(MOST_BYTES)"; exit 1; }

.PHONY: build-bridge
build-bridge: build-bridge-amd64 build-bridge-arm64 ## Build bin/latchkey-bridge-linux-{amd64,arm64}: static, without C

.PHONY: build-bridge-amd64 build-bridge-arm64
build-bridge-amd64 build-bridge-arm64: build-bridge-%:
	@mkdir -p bin
	@CGO_ENABLED=0 GOOS=linux GOARCH=$* go build $(EAGER) $(RELEASE) -o bin/latchkey-bridge-linux-$* ./cmd/latchkey-bridge

.PHONY: demo
demo: ## Build, start everything with one embedded database, and show a guest from the reservation to the open door
	@scripts/need go gcc
	@mkdir -p bin
	@go build $(RELEASE) -o bin/latchkey ./cmd/latchkey
	@bin/latchkey demo

##@ Check

.PHONY: test
test: ## All checks: formatting, vet, staticcheck, generated code, every test; installs PostgreSQL, Mosquitto and Chromium if it can
	@scripts/need go gcc git flock postgresql mosquitto chromium axe
	@$(MAKE) fmt-check tidy-check vet check-generate build-bridge-arm64
	go test $(LEAN) -timeout $(TESTTIME) $(LONGEST) ./...

.PHONY: test-race
test-race: ## The tests again with the race detector, which takes longer; without the packages that have no second goroutine
	@scripts/need go gcc git postgresql mosquitto chromium axe
	go test -race $(LEAN) -timeout $(TESTTIME) $(LONGEST) $$(go list ./... | grep -vxF "$$(go list $(WITHOUT_RACE))")

.PHONY: test-quick
test-quick: ## The tests without the other checks
	go test -timeout $(TESTTIME) ./...

.PHONY: test-web
test-web: ## Pages in Chromium in each size, zoom, theme and language, with and without script; pictures in bin/web
	@scripts/need go gcc chromium axe
	@rm -rf bin/web && mkdir -p bin/web
	LATCHKEY_WEB=all go test -count=1 -timeout 150m -artifacts -outputdir $(abspath bin/web) ./internal/e2e/web

.PHONY: lint
lint: fmt-check vet ## Formatting, go vet with staticcheck, buf lint
	@$(LOCKED) $(MAKE) prepare $(TOOLS)/buf
	$(TOOLS)/buf lint

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $(GO_FILES)); [ -z "$$out" ] || { echo "not formatted (run: gofmt -w FILE):"; echo "$$out"; exit 1; }

.PHONY: tidy-check
tidy-check:
	go mod tidy -diff

.PHONY: vet
vet: # go vet and staticcheck in one pass
	@$(LOCKED) $(MAKE) $(TOOLS)/vet
	go vet -vettool=$(abspath $(TOOLS)/vet) $(EAGER) ./...

.PHONY: breaking
breaking: ## Compare the API with branch main: what would break a caller
	@$(LOCKED) $(MAKE) prepare $(TOOLS)/buf
	$(TOOLS)/buf breaking --against '.git#branch=main'

.PHONY: bench
bench: ## Go benchmarks (BENCH=regexp); for the whole product see bin/latchkey bench
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout $(TESTTIME) ./...

.PHONY: soak
soak: ## kill -9 under load, SOAK=50 times
	LATCHKEY_SOAK=$(SOAK) go test -race -count=1 -timeout 4h -run 'Soak|Kill' ./internal/{db,agent,e2e/soak,e2e/saga}

.PHONY: torture
torture: ## Real programs under faults, every door judged by its keypad: SECONDS=420 SEED=1 ENGINE=sqlite|postgres
	LATCHKEY_TORTURE_SECONDS=$(SECONDS) LATCHKEY_TORTURE_SEED=$(SEED) LATCHKEY_TORTURE_ENGINE=$(ENGINE) \
		go test -count=1 -v -timeout 4h -run TestTorture ./internal/e2e/torture

.PHONY: mutate
mutate: ## Leave out each check of the SmartKey verifier: which mutants do the published vectors not notice?
	nice go run ./internal/test/mutation

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME=30s
	scripts/fuzz $(FUZZTIME)

##@ Generate

.PHONY: generate
generate: ## Generate Go, OpenAPI and the pages of the documentation from proto/ and docs/, and ent from ent/schema
	@$(LOCKED) $(MAKE) prepare
	@$(LOCKED) scripts/generate

.PHONY: generate-proto generate-ent generate-web
generate-proto generate-ent generate-web: generate-%: ## One of the three parts alone
	@$(LOCKED) $(MAKE) prepare
	@$(LOCKED) scripts/generate $*

.PHONY: check-generate
check-generate: ## Fail if committed generated code differs from what would be generated
	@$(LOCKED) $(MAKE) prepare
	@$(LOCKED) scripts/generate --check

.PHONY: migration
migration: ## Write what ent/schema changed as NNNN_next for both engines, again at each call; NAME=what_changes: under its final name
	@scripts/need go gcc postgresql
	@go run ./internal/db/migrationgen $(NAME)

.PHONY: prepare
prepare: tools proto-imports ## The code generators, and the .proto files that buf needs
	@:

.PHONY: tools
tools: $(addprefix $(TOOLS)/,goprotoc ent web $(PLUGINS)) ## Build the pinned generators into .tools (first time: half a minute)

$(TOOLS)/buf: internal/tools/buf/go.mod internal/tools/buf/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/buf && go build $(EAGER) -o ../../../$(TOOLS)/ tool
	@touch $@

$(TOOLS)/goprotoc: internal/tools/protoc/go.mod internal/tools/protoc/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/protoc && go build $(EAGER) -o ../../../$(TOOLS)/ tool
	@touch $@

$(TOOLS)/ent: internal/tools/ent/go.mod internal/tools/ent/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/ent && go build $(EAGER) -o ../../../$(TOOLS)/ tool
	@touch $@

$(addprefix $(TOOLS)/,$(PLUGINS)) &: internal/tools/plugins/go.mod internal/tools/plugins/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/plugins && go build $(EAGER) -o ../../../$(TOOLS)/ tool
	@touch $(addprefix $(TOOLS)/,$(PLUGINS))

$(TOOLS)/web: internal/tools/web/main.go internal/tools/web/go.mod internal/tools/web/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/web && go build $(EAGER) -o ../../../$(TOOLS)/ .
	@touch $@

$(TOOLS)/vet: internal/tools/vet/main.go internal/tools/vet/main_test.go internal/tools/vet/go.mod internal/tools/vet/go.sum
	@mkdir -p $(TOOLS)
	cd internal/tools/vet && go test $(LEAN) . && go build $(EAGER) -o ../../../$(TOOLS)/ .
	@touch $@

.PHONY: proto-imports
proto-imports: $(TOOLS)/proto/stamp

$(TOOLS)/proto/stamp: internal/tools/plugins/go.mod scripts/proto-imports
	@scripts/proto-imports $(TOOLS)/proto
	@touch $@

.PHONY: clean
clean: ## Remove what was built, and the tools
	rm -rf bin $(TOOLS)
