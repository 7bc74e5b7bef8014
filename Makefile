VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO      ?= go
CACHE   ?= $(or $(KALYPSO_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kalypso)

GOLANGCI_LINT_VERSION = v2.15.0
GOLANGCI_LINT         = $(CACHE)/tools/golangci-lint-$(GOLANGCI_LINT_VERSION)

.PHONY: up
up: build ## build everything and bring the sandbox up
	bin/kalypso up

.PHONY: build
build: ## install what a build needs, build the components that changed, pack them, link bin/kalypso
	@GO='$(GO)' .ci/prerequisites build
	$(GO) run ./sandbox/components/build -kalypso bin/kalypso -version '$(VERSION)'

.PHONY: test
test: ## install what tests need, build, then unit tests and the built binary end to end
	@GO='$(GO)' .ci/prerequisites test
	$(MAKE) build
	$(GO) vet ./...
	$(GO) vet -tags e2e ./e2e/...
	$(GO) test ./...
	$(GO) run ./sandbox/components/build -test
	KALYPSO_BIN=$(CURDIR)/bin/kalypso $(GO) test -tags e2e -count=1 -timeout 40m ./e2e/...

.PHONY: bench
bench: build ## figures of the sandbox and of the scheduler's core, with the machine's facts
	$(GO) run ./e2e/bench -kalypso bin/kalypso
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 5x -timeout 30m ./scheduler/...

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: export GO := $(GO)
fuzz: ## every fuzz target of the scheduler for a while
	@.ci/fuzz $(FUZZTIME) ./scheduler/...

.PHONY: docs
docs: ## the workshop guides in docs/, made of the scenarios
	$(GO) test -count=1 -run '^TestGuides$$' ./scenarios -update

.PHONY: kind-node-image
kind-node-image: ## the image of kind's nodes, built without a registry, for the container engine that answers
	$(GO) run ./sandbox/components/build
	$(GO) run ./sandbox/cluster/kind/nodeimage

.PHONY: lint
lint: $(GOLANGCI_LINT) ## the import rules of the house, and the usual mistakes
	$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	mkdir -p $(@D)/.new
	GOBIN=$(@D)/.new GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(@D)/.new/golangci-lint $@

.PHONY: clean
clean: ## remove what build made in this clone; the cache of components stays
	rm -rf bin
	find sandbox/components/payload -mindepth 1 ! -name .keep -delete
