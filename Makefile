VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO      ?= go
CACHE   ?= $(or $(KALYPSO_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kalypso)

GOLANGCI_LINT_VERSION = v2.15.0
GOLANGCI_LINT         = $(CACHE)/tools/golangci-lint-$(GOLANGCI_LINT_VERSION)
DEADCODE_VERSION      = v0.51.0
DEADCODE              = $(CACHE)/tools/deadcode-$(DEADCODE_VERSION)

# with the flags of the components, so that what it shares with them is compiled once
SHARED  = CGO_ENABLED=0 GOFLAGS='-trimpath -gcflags=all=-dwarf=false' $(GO)
BUILDER = $(SHARED) run ./sandbox/components/build

.PHONY: up
up: build ## build everything and bring the sandbox up
	bin/kalypso up

.PHONY: build
build: build-$(or $(COMPONENTS),all) ## install what a build needs, build the components that changed, pack them, link bin/kalypso; with COMPONENTS=cli link bin/kalypso-cli, which has no sandbox

.PHONY: build-all
build-all:
	@GO='$(GO)' .ci/prerequisites build
	$(BUILDER) -kalypso bin/kalypso -version '$(VERSION)'

.PHONY: build-cli
build-cli:
	@GO='$(GO)' .ci/prerequisites cli
	$(BUILDER) -cli -kalypso bin/kalypso-cli -version '$(VERSION)'

.PHONY: test
test: tested ## what every change runs: unit tests, and both workshops' first chapter on the built binary
	$(SHARED) vet ./...
	$(SHARED) vet -tags e2e ./e2e/...
	$(SHARED) test ./...
	$(SHARED) test -C internal/release ./...
	$(BUILDER) -test
	$(E2E) -timeout 10m -run '^TestSmoke$$' ./e2e

.PHONY: test-all
test-all: tested ## all else on the built binary: both tutorials, kind, attached clusters, crashes, security, the browser
	$(E2E) -timeout 80m -skip '^TestSmoke$$' ./e2e

E2E = KALYPSO_BIN=$(CURDIR)/bin/kalypso $(SHARED) test -tags e2e -count=1

.PHONY: tested
tested: # what both kinds of tests need
	@GO='$(GO)' .ci/prerequisites test
	$(MAKE) build

.PHONY: bench
bench: build ## figures of the sandbox and of the scheduler's core, with the machine's facts
	$(GO) run ./e2e/bench -kalypso bin/kalypso
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 5x -timeout 30m ./scheduler/... ./hub/history ./sandbox/virtual

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: export GO := $(GO)
fuzz: ## every fuzz target for a while
	@.ci/fuzz $(FUZZTIME) ./scheduler/... ./internal/...

.PHONY: vuln
vuln: ## what is known against the modules of kalypso and its components, and which newer patches there are
	$(BUILDER) -vulnerabilities

.PHONY: update
update: ## the newest patches for one component: make update COMPONENT=kube
	$(BUILDER) -update '$(COMPONENT)'

.PHONY: docs
docs: ## the workshop guides in docs/, made of the scenarios, and with Chromium the hub's pictures, made of a whole tutorial
	$(GO) test -count=1 ./internal/docgen -update
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then $(MAKE) pictures; else echo 'docs/images stays as it is: there is no Chromium'; fi

.PHONY: pictures
pictures: build
	KALYPSO_PICTURES=$(CURDIR)/docs/images $(E2E) -timeout 20m -run '^TestHelloWorld$$/^Sandbox$$/^(HubPages|Hub)$$' ./e2e

KEY ?=
RELEASE ?=
.PHONY: release
release: ## all that is published: make release VERSION=v0.1.0; KEY=FILE signs it, RELEASE='-platforms linux/amd64' makes less
	@GO='$(GO)' .ci/prerequisites release
	$(GO) run -C internal/release . -root '$(CURDIR)' -version '$(VERSION)' $(if $(KEY),-key '$(abspath $(KEY))') $(RELEASE)

.PHONY: kind-node-image
kind-node-image: ## the image of kind's nodes, built without a registry, for the container engine that answers
	$(BUILDER)
	$(GO) run ./sandbox/cluster/kind/nodeimage

.PHONY: lint
lint: $(GOLANGCI_LINT) $(DEADCODE) ## import rules, words, the usual mistakes, and functions that no command reaches
	$(GO) run ./.ci/words
	$(GOLANGCI_LINT) run ./...
	cd internal/release && $(GOLANGCI_LINT) run ./...
	@dead=$$($(DEADCODE) -test=false ./cmd/...) && test -z "$$dead" || { echo "$$dead"; exit 1; }

$(GOLANGCI_LINT): TOOL = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
$(DEADCODE): TOOL = golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)
$(GOLANGCI_LINT) $(DEADCODE):
	mkdir -p $(@D)/.new
	GOBIN=$(@D)/.new GOFLAGS= $(GO) install $(TOOL)
	mv $(@D)/.new/$(notdir $(firstword $(subst @, ,$(TOOL)))) $@

.PHONY: clean
clean: ## remove what build made in this clone; the cache of components stays
	rm -rf bin
	find sandbox/components/payload hub/web/dist -mindepth 1 ! -name .keep -delete
