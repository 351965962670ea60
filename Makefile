# What one does with Posthouse, one word each: "make" alone lists them.
# Written for GNU make 3.81, which macOS has, and later.

GO      ?= go
# The version is the file's; between releases it ends in -dev, and has the commit behind it, so that two builds can be told apart.
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
DATE    := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
DIRTY   := $(shell git diff --quiet HEAD 2>/dev/null || echo .dirty)
VERSION := $(shell cat VERSION)$(if $(findstring -,$(shell cat VERSION)),$(if $(COMMIT),+$(shell git rev-parse --short=8 HEAD)$(DIRTY)))
STAMP   := -X main.version=$(VERSION) -X main.commit=$(COMMIT)$(DIRTY) -X main.date=$(DATE)

# The binary is static. Tests run without cgo too, but for the race detector.
export CGO_ENABLED := 0

# How many packages are tested at once: fault tests start processes and databases of their own, which more would starve.
AT_ONCE := 2

# The packages whose goroutines share memory: tested again with the race detector,
# all but the C of SQLite, which has none of our memory and would take most of the time.
RACE_FLAGS := -race -gcflags=modernc.org/...=-race=false
RACE := ./channel/... ./internal/engine/... ./internal/intake/... ./internal/pull/... ./internal/content/... ./internal/life/... ./internal/limit/... ./simulator/...

# Outside of go.mod, so that no tool's dependencies become ours.
LINT_VERSION := v2.15.0
LINT         := bin/tools/golangci-lint-$(LINT_VERSION)

# The nested ones hold what is to stay out of our go.mod.
MODULES := . bench bench/riversqlite e2e packaging

# More flags of the benchmark, such as "-databases sqlite,postgres -only drain".
BENCH ?=

# More flags of go test for the fault tests, such as "-run A1": what they find is then added
# to the rows of the run before, which a whole run sets aside.
TORTURE ?=
TORTURE_ROWS := $(CURDIR)/bin/torture.ndjson

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Where make build puts the program.
BIN ?= bin

.PHONY: build
build: ## build bin/posthouse, a static binary
	$(GO) build -trimpath -ldflags '-s -w $(STAMP)' -o $(BIN)/posthouse ./cmd/posthouse

# Where make install puts the program, its manual pages and what shells complete.
PREFIX ?= $(HOME)/.local

.PHONY: install
install: build ## build, and install the program, its manual and shell completion below PREFIX (~/.local)
	mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	cp $(BIN)/posthouse $(DESTDIR)$(PREFIX)/bin/posthouse.new
	mv $(DESTDIR)$(PREFIX)/bin/posthouse.new $(DESTDIR)$(PREFIX)/bin/posthouse
	$(BIN)/posthouse man $(DESTDIR)$(PREFIX)/share/man/man1
	$(BIN)/posthouse completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/posthouse
	$(BIN)/posthouse completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_posthouse
	$(BIN)/posthouse completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/posthouse.fish

.PHONY: run
run: build ## build, and run the server on an SQLite file
	$(BIN)/posthouse serve

# More flags of the demo, such as "--lang zh".
DEMO ?=

.PHONY: demo
demo: build ## build, and send messages to simulated providers in every way there is
	$(BIN)/posthouse demo $(DEMO)

# go test that says meanwhile what it does.
GOTEST := $(GO) run ./scripts/gotest

.PHONY: test
test: test-deps ## install what the tests need, and run them all: half an hour on two cores
	@echo 'All tests: vet, every package, then once more with the race detector. Half an hour on two cores.'
	@echo 'Vet, here and not once more beside each package:'
	$(GO) vet ./...
	@echo 'Every package:'
	@$(GOTEST) -p $(AT_ONCE) -vet=off -count=1 -timeout=40m ./...
	@if command -v gcc >/dev/null || command -v clang >/dev/null; then \
		echo 'Once more with the race detector:'; \
		CGO_ENABLED=1 $(GOTEST) -p $(AT_ONCE) $(RACE_FLAGS) -vet=off -short -count=1 -timeout=40m $(RACE); \
	else \
		echo 'No C compiler, so no race detector.'; \
	fi

# What make test-quick runs: the vocabulary, the drivers, the store, the rules, and the demo, which is the whole program.
QUICK := . ./channel/... ./client ./outbox/... ./rule ./internal/audience ./internal/campaign ./internal/cli/demo ./internal/flow \
	./internal/intake ./internal/limit/... ./internal/pull ./internal/render ./internal/state ./internal/store/... ./internal/verify/...

.PHONY: test-quick
test-quick: ## run what needs no database server, on SQLite alone: at most three minutes on two cores
	@echo 'What needs no database server. At most three minutes on two cores; make test runs all.'
	@DBTEST_SERVERS=none $(GOTEST) -p $(AT_ONCE) -short -count=1 -timeout=5m $(QUICK)

.PHONY: test-deps
test-deps: ## install PostgreSQL, MariaDB and Redis where they are missing
	@scripts/install-test-deps.sh

.PHONY: torture-deps
torture-deps: test-deps
	@scripts/install-test-deps.sh torture

# More flags of the browser's tests, such as "-run Story".
E2E ?=

.PHONY: e2e
e2e: e2e-deps ## drive the console in a real browser
	cd e2e && $(GO) test -count=1 -timeout=15m . $(E2E)

.PHONY: e2e-short
e2e-short: e2e-deps ## the same in less than a minute: in by the link, search, a delivery
	cd e2e && $(GO) test -count=1 -timeout=5m -vet=off -short -v . $(E2E)

.PHONY: pictures
pictures: e2e-deps ## write pictures of the console's main pages below bin/pages, in both languages, light and dark, wide and narrow
	@mkdir -p bin/pages
	cd e2e && $(GO) test -count=1 -timeout=30m -run TestPicturesOfPages -pictures $(CURDIR)/bin/pages . $(E2E)
	@echo "look at bin/pages/index.html"

.PHONY: snapshots
snapshots: e2e-deps ## take the pictures anew with which make e2e compares the pages, after a change of the style that is meant
	cd e2e && $(GO) test -count=1 -timeout=10m -run TestPagesLookAsBefore -anew . $(E2E)

.PHONY: images
images: e2e-deps ## take the pictures of the documentation anew, into docs/images
	cd e2e && $(GO) test -count=1 -timeout=10m -run 'TestStory|TestWhoGotIt|TestFirstSteps$$|TestPictureOfTheOverview' -images $(CURDIR)/docs/images . $(E2E)

.PHONY: e2e-deps
e2e-deps: ## install Chromium and Chinese fonts where they are missing
	@scripts/install-test-deps.sh browser

.PHONY: check
check: $(LINT) ## check formatting, code, modules
	@unformatted=$$(gofmt -l .); \
		if [ -n "$$unformatted" ]; then echo "Run gofmt on: $$unformatted"; exit 1; fi
	@for module in $(MODULES); do \
		echo "module $$module"; \
		(cd $$module && $(GO) vet ./... && $(CURDIR)/$(LINT) run ./... && $(GO) mod tidy -diff && $(GO) mod verify) || exit 1; \
	done
	cd bench && $(GO) test -count=1 ./...

$(LINT):
	mkdir -p bin/tools/new
	GOBIN=$(CURDIR)/bin/tools/new $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv bin/tools/new/golangci-lint $@

.PHONY: clients
clients: ## lint the OpenAPI document, and compile a TypeScript and a Go client made of it
	@scripts/clients.sh

.PHONY: bench
bench: test-deps ## measure the engine beside River, Asynq and backlite: about an hour
	cd bench && $(GO) run . $(BENCH)

.PHONY: bench-quick
bench-quick: ## the same in under five minutes: fewer rounds, cells and peers
	@$(MAKE) bench BENCH='-quick $(BENCH)'

.PHONY: torture
torture: torture-deps ## break it in every way for hours, and print what was found
	@$(GO) run ./torture -rows $(TORTURE_ROWS) -run -- $(TORTURE)

.PHONY: torture-on
torture-on: torture-deps ## go on with a torture that was interrupted
	@$(GO) run ./torture -rows $(TORTURE_ROWS) -run -on

.PHONY: upgrade
upgrade: test-deps ## upgrade what earlier programs left, and run two versions on one database
	$(GO) test -count=1 -timeout=10m -v ./torture/upgrade
	$(GO) test -count=1 -timeout=5m ./internal/store/schema

.PHONY: fixtures
fixtures: test-deps ## make databases of the present schema that the upgrade tests of later versions begin with
	$(GO) test -count=1 -timeout=10m ./torture/upgrade -run TestWhatEarlierProgramsHaveLeftIsUpgraded -update

# How many open deliveries there are when an index is made.
LONG_ROWS ?= 10000000

.PHONY: measures
measures: ## print the sizes of this tree, and of others beside it: make measures BESIDE='../river ../dex'
	@$(GO) run ./scripts/measures -without torture,simulator . $(BESIDE)

.PHONY: bench-migration
bench-migration: test-deps ## measure an index over ten million rows on PostgreSQL, with a kill in the midst of it
	LONG_ROWS=$(LONG_ROWS) $(GO) test -tags long -count=1 -timeout=30m -v ./internal/store/schema -run TestAnIndexOverManyRowsKeepsNobodyWaiting

# What runs on PostgreSQL 18.
POSTGRES18 ?= ./internal/store/... ./internal/dbtest

.PHONY: test-postgres18
test-postgres18: ## run the store's suite on PostgreSQL 18, which npm brings; Linux on amd64
	@GO=$(GO) scripts/test-postgres18.sh $(POSTGRES18)

.PHONY: fronts
fronts: test-deps ## drive the fronts by every sender that can be installed, and print what each was told
	@GO=$(GO) scripts/install-senders.sh
	POSTHOUSE_SENDERS=$(CURDIR)/bin/senders $(GO) test -count=1 -timeout=10m -v ./torture/senders
	@for one in bin/senders/alertmanager-*; do \
		[ ! -x "$$one" ] || { echo "$$one:"; POSTHOUSE_ALERTMANAGER=$(CURDIR)/$$one $(GO) test -count=1 -timeout=5m ./torture/senders -run TestAPairOfAlertmanagers || exit 1; }; \
	done

.PHONY: mta
mta: ## send mails to real mail servers, and take those of one: Mailpit, which Go builds, and Postfix, which wants apt and root
	@GO=$(GO) scripts/test-mta.sh

.PHONY: sdks
sdks: ## drive the simulator by the providers' own programs, which npm brings, and compare what they send with ours
	@GO=$(GO) scripts/test-sdks.sh

.PHONY: prove
prove: test-deps ## explore every schedule of small worlds, and print what was found
	@$(GO) run ./torture -rows $(CURDIR)/bin/prove.ndjson -run -- -run 'TestEverySchedule|TestEveryPairOf|TestTheExploration'

# The time of everything in what is made.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

# More flags of what makes it, such as "-only linux/amd64".
DIST ?=

# Two machines make the same bytes with the same Go alone: the one that go.mod names, which go fetches where it is another.
TOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)

.PHONY: dist
dist: ## make what one downloads below dist: archives, deb, rpm, images, sums, notes
	cd packaging && export GOFLAGS= GOTOOLCHAIN=$(TOOLCHAIN) && $(GO) vet . && $(GO) test . && $(GO) run . -root $(CURDIR) -out $(CURDIR)/dist -version $(VERSION) \
		-commit $(COMMIT)$(DIRTY) -epoch $(SOURCE_DATE_EPOCH) $(DIST)

.PHONY: try-dist
try-dist: ## make it twice, and try sums, image, archive, rpm and deb in roots of their own; as root, on Debian
	$(MAKE) dist DIST='-only linux/$(shell dpkg --print-architecture) -out $(CURDIR)/bin/dist-1'
	$(MAKE) dist DIST='-only linux/$(shell dpkg --print-architecture) -out $(CURDIR)/bin/dist-2'
	diff -r bin/dist-1 bin/dist-2
	$(MAKE) dist DIST='-only linux/$(shell dpkg --print-architecture) -out $(CURDIR)/bin/dist-2 -version $(shell echo $(VERSION) | sed -E 's/^([0-9]+[.][0-9]+)[.][0-9]+/\1.99/')'
	packaging/try.sh bin/dist-1 bin/dist-2
	rm -rf bin/dist-1 bin/dist-2

.PHONY: try-deploy
try-deploy: test-deps ## try chart, compose file, nginx (servers killed behind it) and alert rules
	@scripts/install-test-deps.sh release
	cd packaging/monitoring && promtool check rules posthouse.rules.yaml && promtool test rules posthouse.rules.test.yaml
	cd packaging/deploytest && GOFLAGS= $(GO) vet . && GOFLAGS= $(GO) test -count=1 .
	$(GO) test -tags nginx -count=1 -timeout=10m -v ./torture/nginx

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
