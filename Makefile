# Targets are thin: anything with logic is a Go program, a test or a script in .ci. The pattern "work" matches the
# packages of every module that go.work names; "./..." would match only those of the module in this folder. The
# packages whose tests take longest come first. ATONCE packages are tested at once, twice as many as there are
# processors, because most tests wait most of the time. They are not vetted: make lint does that, and with all checks.

GO      ?= go
PKG     ?= ./test/doctor ./test/ensemble ./test/system ./server work
TIME    ?= 10s
HANG    ?= 30m
ATONCE  ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
BENCH   ?= .
SEEDS   ?= 1000
STEPS   ?= 10000
KILLS   ?= 200
TURN    ?= 3s
FAILS   ?= 20
FIRST   ?= 0
SIMS    ?= ^TestSim(Lists|Reconfig|Disks|DisksReconfig|Forged|ObserverMasters|ObserverMastersReconfig)?$$
LINUX   := linux/amd64 linux/arm64
OTHERS  := darwin/amd64 darwin/arm64 windows/amd64
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE    ?= $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)

module  := github.com/seed94657493/warren
build   := $(module)/cmd/warren/build
ldflags := -s -w -X $(build).version=$(VERSION) -X $(build).commit=$(COMMIT) -X $(build).date=$(DATE)
archives := $(GO) run ./test/archives -go '$(GO)' -version '$(VERSION)' -date '$(DATE)' -ldflags '$(ldflags)'

# The profile of cmd/warren is for the binary. To the go command it is a reason to compile every package once more, with
# the profile, if cmd/warren is only looked at; so are cgo, and the paths of this folder, which the binary is without.
lint test cover: export CGO_ENABLED := 0
lint test cover race: export GOFLAGS := $(GOFLAGS) -pgo=off -trimpath

.PHONY: help build run test race check sim sim-cover defects fuzz cluster interop bench profile generate verify-generate pictures site
.PHONY: benchmarks kills systems test-server
.PHONY: completion man helm s3 console-app console-test release dist dist-test push modules tags tidy lint fmt cover clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/warren, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(ldflags)' -o bin/warren ./cmd/warren

run: build ## run a server on 127.0.0.1:2181 with its data in ./data
	exec bin/warren server

test: export WARREN_BIN := $(CURDIR)/bin/tested/warren
test: ## run every test, with costly assertions on
	GO='$(GO)' .ci/tested '$(WARREN_BIN)'
	$(GO) test -tags invariants -vet=off -p $(ATONCE) -timeout $(HANG) $(PKG)
	overlay=$$($(GO) run ./test/defects/overlay bin/defects) && $(GO) test -overlay $$overlay -tags invariants \
		-vet=off -timeout $(HANG) ./zab ./test/system -run '^Test(ScriptsSeeDefects|DefectsAreFound)$$'
	GO='$(GO)' .ci/journeys

race: ## run every test under the race detector
	$(GO) test -race -tags invariants -timeout $(HANG) $(PKG)

check: lint verify-generate test ## run what must be green before a commit

sim: ## run SEEDS simulated ensembles with STEPS events of faults and load each; FIRST=N begins at seed N
	$(GO) test -tags invariants -count=1 -timeout 24h -v ./test/sim -run '$(SIMS)' -sim.fresh=0 \
		-sim.first=$(FIRST) -sim.seeds=$(SEEDS) -sim.steps=$(STEPS) $(if $(RECORD),-sim.record=$(CURDIR)/docs/SIMULATION.md)
	$(GO) test -tags invariants -count=1 -timeout 24h -v ./test/system -run '^TestSystem$$' -system.fresh=0 \
		-system.first=$(FIRST) -system.seeds=$(SEEDS) $(if $(RECORD),-system.record=$(CURDIR)/docs/SIMULATION.md)

sim-cover: ## list branches of zab and the host that none of SEEDS fresh seeds has entered
	$(GO) test -tags invariants -count=1 -timeout 24h ./test/sim -run '$(SIMS)' -sim.fresh=0 -sim.first=$(FIRST) \
		-sim.seeds=$(SEEDS) -coverpkg=./zab/... -coverprofile=sim.cover
	$(GO) test -tags invariants -count=1 -timeout 24h ./test/system -run '^TestSystem$$' -system.fresh=0 \
		-system.first=$(FIRST) -system.seeds=$(SEEDS) -coverpkg=./zab/...,./server/internal/host/... -coverprofile=system.cover
	$(GO) run ./test/seeds/unentered sim.cover system.cover

defects: ## run servers with known defects, one at a time, until the simulations notice; for docs/SIMULATION.md
	$(GO) test -tags invariants -count=1 -timeout 24h -v ./test/system -run '^TestDefectRunsAreClean$$' -system.clean=20
	overlay=$$($(GO) run ./test/defects/overlay bin/defects) && test="$(GO) test -overlay $$overlay -tags invariants \
		-count=1 -timeout 24h -v" && $$test ./test/system -run '^TestDefectsAreFound$$' -system.defects && \
		$$test -p 1 ./zab ./test/sim -run '^Test(ScriptsSee|SimFinds)Defects$$'

fuzz: ## run every fuzz target for TIME
	GO='$(GO)' .ci/fuzz '$(TIME)' $(PKG)

cluster: ## test servers as processes: crashes, restarts, cut networks, full and lost disks; some tests need root
	$(GO) test -tags invariants -count=1 -v ./test/cluster/...
	$(GO) test -tags invariants -count=1 -timeout 30m -v ./test/ensemble/... -ensemble.rounds=30
	$(GO) test -tags invariants -count=1 -timeout 30m -v ./test/ensemble/... -run TestChaos \
		-ensemble.rounds=30 -ensemble.servers=5

interop: ## test beside ZooKeeper and with its clients, and 100 crashes; needs the packages that test/interop names
	$(GO) test -tags 'invariants interop' -count=1 -timeout 60m -v ./test/interop/... \
		-interop.seeds=50 -interop.requests=2000
	$(GO) test -tags 'invariants interop' -count=1 -timeout 60m -v ./test/ensemble/... -ensemble.rounds=30
	$(GO) test -tags 'invariants interop' -count=1 -v ./test/docs -run 'TestPagesRun/docs/tutorial|TestReadmeStarts'
	$(GO) test -tags invariants -count=1 -timeout 30m -v ./test/cluster/... -cluster.rounds=100

benchmarks: build ## measure servers and clients beside ZooKeeper's; RECORD=yes writes the pages' figures
	WARREN_BIN=$(CURDIR)/bin/warren $(GO) test -tags interop -count=1 -timeout 2h -v ./test/measured \
		-run '^Test(Idle)?Servers$$' -measured.turn $(TURN) $(if $(RECORD),-measured.record=$(CURDIR)/docs)
	WARREN_BIN=$(CURDIR)/bin/warren $(GO) test -tags interop -count=1 -timeout 2h -v ./test/ensemble \
		-run '^TestFailover$$' -ensemble.failover=$(FAILS) -ensemble.target=warren,zookeeper \
		$(if $(RECORD),-ensemble.record=$(CURDIR)/docs)
	$(GO) test -count=1 -timeout 2h -v ./test/clientbench -run '^$$' -bench 'Compare|WatchMemory' -benchtime 1x \
		$(if $(RECORD),-client.record=$(CURDIR)/docs)

kills: ## count what clients see of KILLS killed leaders, beside ZooKeeper; RECORD=yes writes docs/BENCHMARKS.md
	$(GO) test -tags interop -count=1 -timeout 4h -v ./test/interop -run '^TestKilledLeaders$$' \
		-interop.leaders=$(KILLS) -interop.silence=300ms $(if $(RECORD),-interop.record=$(CURDIR)/docs)
	$(GO) test -tags interop -count=1 -timeout 4h -v ./test/ensemble -ensemble.prompt \
		-run '^TestLeaderWithoutClientsBeside$$|^TestDeadClientsBeside$$' -ensemble.crowd=10000 -ensemble.crowdkills=3 \
		-ensemble.dead=1000 $(if $(RECORD),-ensemble.record=$(CURDIR)/docs)

systems: ## run Kafka and other systems on ensembles whose leaders are killed, beside ZooKeeper; S=kafka for one
	nice -n 10 $(GO) test -tags systems -count=1 -timeout 12h -v ./test/systems -run '^TestSystems$$/^$(or $(S),.*)$$' \
		-systems.record=$(if $(RECORD),true,false) -systems.together=$(if $(TOGETHER),true,false)

test-server: ## build and try the jar for tests of Java projects, java/warren-test-server/target
	mvn -q -B -f java/warren-test-server/pom.xml package
	$(GO) test -tags systems -count=1 -timeout 1h -v ./test/systems -run '^TestServer'

helm: ## test the chart with the libraries of Helm and Kubernetes; see test/helm for BITNAMI and DEPENDENT
	cd test/helm && export GOWORK=off GOFLAGS=-mod=mod && $(GO) vet . \
		&& BITNAMI='$(BITNAMI)' DEPENDENT='$(DEPENDENT)' $(GO) test -p 1 -count=1 .

s3: ## backups to a real S3 server, which is built first
	cd test/s3 && export GOWORK=off GOFLAGS=-mod=mod && $(GO) vet . && $(GO) test -count=1 .

console-app: ## bundle the console's application from its sources; needs npm
	cd test/bundle && GOWORK=off $(GO) run .

console-test: console-app ## go through the console in Chromium; PICTURES=yes writes the pictures of the documents
	cd test/bundle && export GOWORK=off && $(GO) vet . && WARREN_NPM=required $(GO) test -count=1 .
	cd test/console && export GOWORK=off GOFLAGS=-mod=mod && $(GO) vet . \
		&& WARREN_BROWSER=required $(GO) test -count=1 -timeout 40m . $(if $(PICTURES),-pictures ../../docs/pictures)

bench: ## run the Go benchmarks of PKG that match BENCH (for a whole server: bin/warren bench)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

profile: ## write cmd/warren/default.pgo, which tells the compiler what to inline: profiles of servers under load
	GO='$(GO)' .ci/profile

generate: ## write the generated files of proto
	$(GO) run ./proto/gen

pictures: ## write docs/pictures/*.svg from the texts beside them; a test compares them
	$(GO) run ./test/pictures docs/pictures

site: ## write the pages as a web site to dist/site, for any file server
	$(GO) run ./test/site dist/site

verify-generate: ## fail if the generated files are stale
	$(GO) test -count=1 -run '^TestGeneratedFilesAreUpToDate$$' ./test/arch

completion: build ## write deploy/completion, for bash, zsh and fish
	bin/warren completion bash > deploy/completion/warren.bash
	bin/warren completion zsh > deploy/completion/_warren
	bin/warren completion fish > deploy/completion/warren.fish

man: build ## write the manual pages to dist/man
	bin/warren man dist/man

release: ## build a reproducible tar.gz for each platform of a server, and SHA256SUMS, in dist
	$(archives) $(LINUX)

dist: ## build everything that can be installed: archives, deb, rpm, images, their SBOMs, and SHA256SUMS
	$(archives) $(LINUX) $(OTHERS)
	cd test/packaging && GOWORK=off GOFLAGS=-p=1 $(GO) run . -dist ../../dist -revision '$(COMMIT)'
	$(GO) run ./test/archives -sums

dist-test: dist ## check that each is reproducible, install it in an empty root, and run an ensemble; needs root
	cd test/packaging && export GOWORK=off GOFLAGS=-p=1 && $(GO) vet . && $(GO) test -count=1 -timeout $(HANG) -v .

push: ## push the image of dist, for each architecture, to IMAGE, a name with a registry
	test -n '$(IMAGE)' && cd test/packaging && GOWORK=off GOFLAGS=-p=1 $(GO) run . -dist ../../dist -push '$(IMAGE)'

modules: ## write a module proxy with the modules of this tree to dist/modules; see docs/adr/0013-modules.md
	$(GO) run ./test/modules/release

tags: ## tag every module of the commit of a release: make tags VERSION=v0.2.0; see CONTRIBUTING.md
	$(GO) run ./test/modules/release -version '$(VERSION)' -tag

tidy: ## run go mod tidy in each module
	$(GO) run ./test/modules/release -tidy
	cd test/helm && GOWORK=off $(GO) mod tidy
	cd test/s3 && GOWORK=off $(GO) mod tidy
	cd test/bundle && GOWORK=off $(GO) mod tidy
	cd test/console && GOWORK=off $(GO) mod tidy
	cd test/packaging && GOWORK=off $(GO) mod tidy

lint: ## run gofmt, go vet, staticcheck and the house rules
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt these: $$unformatted"; exit 1; }
	$(GO) vet -tags 'invariants interop systems' work
	GOGC=400 $(GO) tool staticcheck -tags 'invariants interop systems' work
	$(GO) test ./test/arch

fmt: ## run gofmt, and sort imports
	$(GO) tool goimports -w -local $(module) $$(git ls-files '*.go')

cover: ## measure the test coverage of all packages by all tests
	$(GO) test -tags invariants -timeout $(HANG) -coverpkg=$(module)/... -coverprofile=cover.out $(PKG)
	$(GO) tool cover -func=cover.out | tail -n 1

clean: ## remove what make built
	rm -rf bin dist cover.out sim.cover system.cover
