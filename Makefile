# Every target has one line of help; `make help` prints them. CI calls only these.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
PACKAGES ?= ./...
# Number of packages tested at once, those that took longest first: their clusters wait most of the time.
AT_ONCE ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Packages whose tests have clocks, processes or connections: make flakes repeats them.
TIMED   := agent(/.*)?|analyze/publish/live|cmd/dbtester|control(/shared)?|pkg/(coordination|database|fault|install|load|machine|member|process|remotestorage|trust|wire)(/.*)?|tools/.*
# Packages that compute for long and start few goroutines, and the program's, whose tests start it
# as users do: make race leaves them out, and make test-long does not.
PLAIN   := analyze(/.*)?|cmd/dbtester|pkg/results/histogram|tools/audit
# Packages of databases, whose suites make test-long runs whole.
SUITES  := ./pkg/database/cetcd ./pkg/database/consul ./pkg/database/etcd ./pkg/database/zetcd ./pkg/database/zookeeper

# Behind a command that prints the file of its target in test-results: an interrupted one leaves the
# old file, and so does one that prints nothing, because of its arguments. One that fails because of
# what it found replaces it and fails.
publish = >bin/$@.md; status=$$?; test ! -s bin/$@.md || mv bin/$@.md test-results/$@.md && exit $$status

.DEFAULT_GOAL := build
.PHONY: all help build quickstart check test race test-fast test-long flakes bench bench-peers bench-memory observer audit verdicts capacity verdicts-real screens-real results results-faults results-faults-equal results-faults-clients results-consistency results-sessions results-locks results-watches hand-offs holders blackout discovery watchers no-flap tap viewers causes power consistency-check consistency-cost reports stranger newcomer kill hostile fuzz matrix faults cycles generators scale long-runs neighbours classic house screens release release-check vulnerabilities images images-java manifests kube prometheus vet lint verify verify-format verify-generate verify-darwin update generate tools-build tools-test tools-kube clean

all: verify test ## check and test everything

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: tools-build ## build bin/dbtester, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/dbtester ./cmd/dbtester

quickstart: build ## benchmark three members of the embedded etcd on this machine
	bin/dbtester quickstart

# all is PACKAGES, those that took longest in make test first.
list-all = all=$$($(GO) list $(PACKAGES)) && all=$$(echo "$$all" | awk 'FILENAME != "-" { took[$$2] = $$1; next } { print took[$$1] + 0, $$1 }' test-results/test-times.tsv - | sort -rn | cut -d ' ' -f 2) && test -n "$$all" || exit 1

test: tools-test vet ## every test; needs what scripts/check-tools.sh names, and ends with the names of skipped tests
	@mkdir -p bin && : >bin/skipped.txt && : >bin/test-times.tsv && $(GO) build -o bin/ ./tools/testrun
	@$(list-all); status=0; \
	$(GO) list -test -export $$all >/dev/null; : compile on all processors, link nothing; \
	bin/testrun -go '$(GO)' -skipped bin/skipped.txt -times bin/test-times.tsv -- -p $(AT_ONCE) -vet=off -timeout 60m $(TESTFLAGS) $$all || status=1; \
	(cd tools/kube && $(GO) test $(TESTFLAGS) ./...) || status=1; \
	bin/testrun -compare test-results/test-times.tsv -times bin/test-times.tsv; \
	test ! -s bin/skipped.txt || { echo "Skipped here, with the reasons:"; sort bin/skipped.txt; }; exit $$status

# With the race detector each process would wait a second for reports before it exits: minutes in
# all. Members of built-in databases run without it, which takes several times their CPU time.
race test-long check: export GORACE ?= atexit_sleep_ms=50
race check: export DBTESTER_MEMBER = $(CURDIR)/bin/member

race: tools-build ## tests with the race detector, without databases to install, but those of PLAIN
	@mkdir -p bin && $(GO) build -o bin/ ./tools/member
	CI= $(GO) test -race -short -vet=off -timeout 60m $$($(GO) list $(PACKAGES) | grep -vE '/($(PLAIN))$$')

test-long: tools-test ## what make test and make race leave out: PLAIN with the race detector, suites of databases whole with each transport and release, more lies of servers and stores, more races, kills at every step, 4 GiB over one stream; half an hour
	DBTESTER_LONG=1 $(GO) test -race -vet=off -p 2 -timeout 60m -run '^Test(Conformance|Secure|LoseMember|RecordedAnswers)' $(SUITES)
	DBTESTER_LONG=1 $(GO) test -race -vet=off -timeout 30m -run '^Test(Kill|Consistency|RaceForAgents|RaceToTakeOver)$$' ./control
	DBTESTER_LONG=1 $(GO) test -vet=off -run Pages ./analyze/publish/published
	DBTESTER_LONG=1 $(GO) test -vet=off -timeout 10m -run '^TestLongStream$$' ./pkg/database/etcd/stream
	$(GO) test -race -vet=off -p 1 -timeout 60m $$($(GO) list ./... | grep -E '/($(PLAIN))$$')

test-fast: tools-build ## tests of every package that take no seconds and need no databases to install; less than three minutes on two processors
	@$(list-all); \
	DBTESTER_FAST=1 $(GO) test -short -vet=off -p $(AT_ONCE) -timeout 30m $(TESTFLAGS) $$all

# What a change is compared with: the published branch, or else what is not committed.
BASE ?= $(shell git merge-base HEAD origin/main 2>/dev/null || echo HEAD)
check: verify ## verify, and tests of the packages that changes since BASE reach, with the race detector but for PLAIN, without databases to install
	@mkdir -p bin && $(GO) build -o bin/ ./tools/reached ./tools/member
	@all=$$(bin/reached -go '$(GO)' -since $(BASE)) || exit 1; status=0; \
	run() { flags=$$1; shift; test $$# = 0 || $(GO) test $$flags -short -vet=off -timeout 30m $$@ || status=1; }; \
	run '' $$(echo "$$all" | grep -E '/($(PLAIN))$$'); run -race $$(echo "$$all" | grep -vE '/($(PLAIN))$$'); exit $$status

flakes: ## make test WHOLE times (3), and packages with clocks or processes until they have RUNS runs (10), beside busy processors: test-results/flakes.md; resumes; make flakes [RUNS=3 TESTFLAGS=-race PACKAGES=./pkg/wire/...]; two hours
	@mkdir -p bin
	{ packages=$$($(GO) list $(PACKAGES) | grep -E '/($(if $(filter ./...,$(PACKAGES)),$(TIMED),.*))$$') && GO='$(GO)' TESTFLAGS='$(TESTFLAGS)' scripts/flakes.sh $(or $(WHOLE),$(if $(filter ./...,$(PACKAGES)),3,0)) $(or $(RUNS),10) $$packages; } $(publish)

bench: tools-build ## the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)

# What `make bench-peers` and `make bench-memory` measure: all parts of the page, or those of PARTS.
bench-peers: build ## client cost beside etcd's own benchmark tool, a floor, public clients and wrk, by database, and of a cold start: test-results/peers.md; needs nginx and wrk; make bench-peers [PARTS=rate-1000,start]; three hours, each part by itself 1 to 20 minutes
	cd tools/peers && $(GO) run . bench -dbtester ../../bin/dbtester -file ../../test-results/peers.md -parts '$(PARTS)'

bench-memory: build ## RssAnon of the client over numbers of requests: test-results/memory.md; make bench-memory [PARTS=etcd]; an hour, each part by itself 3 to 15 minutes
	cd tools/peers && $(GO) run . memory -dbtester ../../bin/dbtester -file ../../test-results/memory.md -parts '$(PARTS)'

observer: build ## compare response times and lateness with what a proxy before etcd saw: test-results/observer.md; a quarter of an hour, on an idle machine
	$(GO) run ./tools/observer -dbtester bin/dbtester $(publish)

audit: build ## compare reports with the logs of scripted servers, at full scale: test-results/audit.md; about ten minutes
	$(GO) run ./tools/audit -dbtester bin/dbtester $(publish)

verdicts: ## simulate what is decided from measurements: test-results/verdicts.md; minutes
	@mkdir -p bin
	$(GO) run ./tools/verdicts >bin/verdicts.md
	mv bin/verdicts.md test-results/verdicts.md

capacity: ## search for the capacity of a server on loopback whose capacity is known, in real time; six minutes
	$(GO) run ./tools/verdicts -only bucket

verdicts-real: build ## compare real etcd with itself and with a planted delay, 25 times: results/verdicts-real; resumes; hours, on an idle machine
	scripts/verdicts-real.sh

screens-real: build ## make first screens of real etcd beside itself, 20 times: results/screens-real; resumes; 20 minutes
	scripts/screens-real.sh

results: build ## run the published experiments again, from a clean commit: make results [NAMES="quickstart quota"]; resumes; ten hours or so
	scripts/publish-results.sh $(NAMES)

results-faults: build ## run test-configs/faults-stores-local.yaml and publish it as test-results/faults, from a clean commit and as root; an hour
	@mkdir -p test-results/faults && cp test-configs/faults-stores-local.yaml test-results/faults/experiment.yaml && touch test-results/faults/own-disk
	scripts/publish-results.sh faults

results-faults-equal: build ## run test-configs/faults-equal-local.yaml and publish it as test-results/faults-equal, from a clean commit and as root; half an hour
	@mkdir -p test-results/faults-equal && cp test-configs/faults-equal-local.yaml test-results/faults-equal/experiment.yaml && touch test-results/faults-equal/own-disk
	scripts/publish-results.sh faults-equal

results-faults-clients: build ## run test-configs/faults-clients-local.yaml and publish it as test-results/faults-clients, from a clean commit; a quarter of an hour
	@mkdir -p test-results/faults-clients && cp test-configs/faults-clients-local.yaml test-results/faults-clients/experiment.yaml
	scripts/publish-results.sh faults-clients

results-consistency: build ## run test-configs/consistency-stores-local.yaml and publish it as test-results/consistency, from a clean commit; twenty minutes
	@mkdir -p test-results/consistency && cp test-configs/consistency-stores-local.yaml test-results/consistency/experiment.yaml
	scripts/publish-results.sh consistency

# A first screen has room for few columns, so that each number of sessions, and each recipe, is a set of its own.
SESSIONS := 200 2000 20000
results-sessions: build ## run test-configs/sessions-stores-local.yaml and publish it as test-results/sessions-200, -2000 and -20000 (two generators hold these), from a clean commit; a quarter of an hour
	@for n in $(SESSIONS); do mkdir -p test-results/sessions-$$n && grep -E "^[^ ]|__$$n:" test-configs/sessions-stores-local.yaml | sed "s/^title: .*/title: $$(echo $$n | sed 's/...$$/,&/;s/^,//') dead clients of three stores/" >test-results/sessions-$$n/experiment.yaml || exit; done
	@touch test-results/sessions-20000/generators && echo 'generators: [127.0.0.8, 127.0.0.9]' >>test-results/sessions-20000/experiment.yaml
	scripts/publish-results.sh $(SESSIONS:%=sessions-%)

HOLDS := etcd zookeeper consul
results-locks: build ## run test-configs/locks-by-hold-local.yaml and locks-fairness-local.yaml, and publish them in test-results, each store of the first apart, from a clean commit; half an hour
	@mkdir -p test-results/locks-fairness && cp test-configs/locks-fairness-local.yaml test-results/locks-fairness/experiment.yaml
	@for n in $(HOLDS); do mkdir -p test-results/locks-by-hold-$$n && grep -E "^[^ ]|tag: $$n-" test-configs/locks-by-hold-local.yaml | sed "s/^title: .*/&, $$n/" >test-results/locks-by-hold-$$n/experiment.yaml || exit; done
	scripts/publish-results.sh locks-fairness $(HOLDS:%=locks-by-hold-%)

# Each store, or each proxy beside its original, has a column of a first screen.
WATCHES := watches-stores watches-proxies service-discovery leader
results-watches: build ## run the files of test-configs about watches and service discovery, of how fast watchers catch up those of etcd, and publish them in test-results, from a clean commit; an hour
	@for n in $(WATCHES); do mkdir -p test-results/$$n && cp test-configs/$$n-local.yaml test-results/$$n/experiment.yaml || exit; done
	@mkdir -p test-results/watches-catch-up && grep -E "^[^ ]|tag: etcd-" test-configs/watches-catch-up-local.yaml | sed "s/^title: .*/&, etcd/" >test-results/watches-catch-up/experiment.yaml
	scripts/publish-results.sh $(WATCHES) watches-catch-up

HAND_OFFS ?= 100000
hand-offs: build ## HAND_OFFS of locks of etcd, ZooKeeper and Consul, half of each store by each recipe, each turn judged by other code: test-results/hand-offs.md; ten minutes
	$(GO) run ./tools/handoffs -dbtester $(CURDIR)/bin/dbtester -n $(HAND_OFFS) $(publish)

holders: build ## compare what is reported of holders of sessions and locks that die, go on or are stopped with each store's rule, and the cost of a renewal with that of etcd's tools: test-results/holders.md; half an hour, on an idle machine
	($(GO) run ./tools/holders -dbtester $(CURDIR)/bin/dbtester; status=$$?; cd tools/peers && echo && $(GO) run . etcd -keepalive -pairs 6 -requests 400000 && exit $$status) $(publish)

watchers: build ## compare what is reported of many watchers of etcd and ZooKeeper with etcd's own counter, a watcher of other code, a second process that writes and the kernel's account of memory, and the cost of an event with that of etcd's tool: test-results/watchers.md; a quarter of an hour, on an idle machine
	($(GO) run ./tools/watchers -dbtester $(CURDIR)/bin/dbtester; status=$$?; cd tools/peers && echo && $(GO) run . etcd -watchers 1000 -connections 50 -rate 100 -pairs 6 -requests 2000000 && exit $$status) $(publish)

BLACKOUTS ?= 10
blackout: build ## compare measured blackouts of etcd, ZooKeeper and Consul with those of a prober of its own code, BLACKOUTS of each fault, as root: test-results/blackout.md; half an hour
	$(GO) run ./tools/blackout -dbtester $(CURDIR)/bin/dbtester -n $(BLACKOUTS) $(publish)

DEATHS ?= 100
discovery: build ## compare when consumers of etcd, ZooKeeper and Consul knew of DEATHS deaths of instances with what a prober of its own code saw: test-results/discovery.md; a quarter of an hour
	$(GO) run ./tools/discovery -dbtester $(CURDIR)/bin/dbtester -n $(DEATHS) $(publish)

ALIVE ?= 30m
no-flap: build ## keep 200 instances alive in etcd, ZooKeeper, Consul and Consul's services, all at once, for ALIVE (30m), beside a load, and count living ones that are declared dead: test-results/no-flap.md; half an hour
	$(GO) run ./tools/discovery -dbtester $(CURDIR)/bin/dbtester -n 3 -living 200 -rate 20 -alive $(ALIVE) $(publish)

tap: build ## compare delays of fsync by faults of disks with etcd's own histogram, and measure what members under the tap cost without a fault, in 20 pairs of two loads: test-results/tap.md; half an hour
	$(GO) run ./tools/tap -dbtester $(CURDIR)/bin/dbtester $(publish)

viewers: build ## measure what three viewers of the live page cost a load, in 12 pairs of runs with and without them at two rates: test-results/viewers.md; a quarter of an hour
	$(GO) run ./tools/viewers -dbtester $(CURDIR)/bin/dbtester $(publish)

causes: build ## plant causes in etcd, ZooKeeper and Consul, and count how often reports name them and something else, as root: test-results/causes.md; make causes [CAUSES=quota,fsync RUNS=20]; resumes with results/causes.jsonl; an hour and a quarter
	$(GO) run ./tools/causes -dbtester $(CURDIR)/bin/dbtester -causes '$(CAUSES)' -n $(or $(RUNS),20) $(publish)

N ?= 20
power: build ## count how often power failures lose acknowledged writes of etcd 3.5.4, 3.6.16 and 3.7.3, N fresh clusters of each, as root: test-results/power.md; 20 minutes
	$(GO) run ./tools/power -dbtester $(CURDIR)/bin/dbtester -n $(N) $(publish)

consistency-check: ## compare verdicts on histories with two other checkers, plant lies, and judge 100 million honest requests: test-results/consistency-check.md; minutes
	DBTESTER_CONSISTENCY_CHECK=$(CURDIR)/test-results/consistency-check.md DBTESTER_CONSISTENCY_HONEST=$(or $(HONEST),100000000) $(GO) test -count=1 -timeout 60m -v -run '^TestCheck$$' ./pkg/consistency

consistency-cost: ## measure what judging costs clients of etcd and Consul, in ten pairs each, on an idle machine: test-results/consistency-cost.md; some twelve minutes
	@mkdir -p bin && scripts/consistency-cost.sh bin/consistency-cost.md
	mv bin/consistency-cost.md test-results/consistency-cost.md

reports: build ## make the reports of the published records again, and look at their pages: make reports [NAMES="quickstart quota"]; two minutes
	scripts/publish-results.sh --reports $(NAMES)
	DBTESTER_LONG=1 $(GO) test -run Pages ./analyze/publish/published

newcomer: build ## the way of a newcomer by docs/getting-started.md, with a timer: test-results/newcomer.md; minutes
	scripts/newcomer.sh >bin/newcomer.md
	mv bin/newcomer.md test-results/newcomer.md

stranger: ## the way of a stranger by the documents, in network namespaces: test-results/stranger.md; needs root; minutes
	@mkdir -p bin
	GO='$(GO)' scripts/stranger.sh >bin/stranger.md
	mv bin/stranger.md test-results/stranger.md

kill: ## kill -9 of control, agents and members of etcd at every step of a run; minutes
	DBTESTER_KILL_ETCD=1 $(GO) test -count=1 -timeout 30m -run '^TestKill$$' ./control

matrix: ## kill and stop everybody at every step, fill disks, take descriptors away, cut an agent off, send a million mutated calls: test-results/matrix.md; needs root or a user namespace; half an hour
	@mkdir -p bin
	GO='$(GO)' scripts/matrix.sh $(publish)

faults: ## kill control, agents and members during a fault of each kind, and play 200 random schedules: test-results/faults-matrix.md; twenty minutes, as root for all kinds
	@mkdir -p bin
	GO='$(GO)' scripts/faults.sh >bin/faults-matrix.md; status=$$?; mv bin/faults-matrix.md test-results/faults-matrix.md && exit $$status

hostile: ## run folders, experiment files, answers, checkouts and stores of others, all cases: test-results/hostile.md; a quarter of an hour
	@mkdir -p bin
	$(GO) run ./tools/hostile -go '$(GO)' $(publish)

FUZZTIME ?= 1m
fuzz: ## every fuzz test for FUZZTIME; make fuzz [FUZZTIME=10m PACKAGES=./pkg/database/...]; an hour
	@for file in $$($(GO) list -f '{{$$d := .Dir}}{{range .TestGoFiles}}{{$$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$d}}/{{.}} {{end}}' $(PACKAGES)); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
			echo "$$name in $${file#$(CURDIR)/}"; (cd $$(dirname $$file) && $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) .) || exit 1; \
		done; done

cycles: ## fifty starts and stops of etcd leave nothing in their agent; a minute
	DBTESTER_CYCLES_ETCD=1 $(GO) test -count=1 -timeout 10m -run '^TestCycles$$' ./control

generators: ## four generators in network namespaces, of which one is killed, one paused and one slowed; needs root or a user namespace; a minute
	DBTESTER_GENERATOR_FAULTS=1 $(GO) test -count=1 -timeout 10m -v -run '^TestGenerator(s|Killed|Faults)' ./cmd/dbtester

scale: ## what 1 to 8 generators in network namespaces hold together on this machine, and what control needs for them: test-results/scale.md; three minutes
	DBTESTER_SCALE=$(CURDIR)/test-results/scale.md $(GO) test -count=1 -timeout 20m -run '^TestScale$$' ./cmd/dbtester

long-runs: build ## what reports of an hour and of a day of three databases cost, and the size of their records: test-results/long-runs.md; ten minutes
	DBTESTER_LONG_FILE=$(CURDIR)/test-results/long-runs.md DBTESTER_PROGRAM=$(CURDIR)/bin/dbtester $(GO) test -count=1 -timeout 30m -run '^TestLongRunCosts$$' ./analyze

neighbours: ## 10,000 keys of others on etcd, ZooKeeper and Consul stay as they are beside a load; minutes
	$(GO) test -count=1 -timeout 30m -run '^TestConformance$$/prefix' ./pkg/database/etcd ./pkg/database/zookeeper ./pkg/database/consul -neighbour-keys=10000

classic: ## every classic file from control to a README with remote images, with three stores: test-results/classic.md; a quarter of an hour
	DBTESTER_CLASSIC_MATRIX=$(CURDIR)/test-results/classic.md $(GO) test -count=1 -timeout 60m -run '^TestClassicMatrix$$' ./cmd/dbtester

house: ## types, structs, files, their order and the words of comments, as tables: make house TREE=/path
	@$(GO) run ./tools/house $(HOUSEFLAGS) $(or $(TREE),.)

screens: build ## pictures of published reports and of the end of the quickstart, by Chromium: test-results/screens
	GO='$(GO)' scripts/screens.sh

release: tools-build vulnerabilities ## archives of binaries for Linux and macOS with bills of materials and checksums: bin/release
	GO='$(GO)' scripts/release.sh

release-check: tools-build ## two builds of a release in two paths have the same bytes; minutes
	GO='$(GO)' scripts/release-check.sh

vulnerabilities: ## govulncheck, where its database is reachable
	GO='$(GO)' scripts/vulnerabilities.sh

images: build ## the image of bin/dbtester as an archive, without a daemon: bin/images/dbtester.tar
	cd tools/kube && $(GO) run ./images -binary ../../bin/dbtester -tag dbtester:$(VERSION) -arch $$($(GO) env GOARCH) -out ../../bin/images/dbtester.tar

images-java: build ## the same with Debian's Java and ZooKeeper's jars, on Debian 12: bin/images/dbtester-java.tar
	scripts/java-root.sh bin/images/java-root
	cd tools/kube && $(GO) run ./images -binary ../../bin/dbtester -root ../../bin/images/java-root -tag dbtester-java:$(VERSION) -arch $$($(GO) env GOARCH) -out ../../bin/images/dbtester-java.tar

manifests: ## decode the Kubernetes manifests of pkg/kube into the types that Kubernetes publishes, and test images (tools/kube)
	cd tools/kube && $(GO) test ./...

kube: tools-kube build images images-java ## run manifests in a Kubernetes of two nodes on this machine, as root: test-results/kube.md; a quarter of an hour at first, then minutes
	scripts/kube.sh >bin/kube.md
	mv bin/kube.md test-results/kube.md && cat test-results/kube.md

vet: ## go vet, of what build compiles
	CGO_ENABLED=0 $(GO) vet -trimpath ./...

lint: ## staticcheck, as .golangci.yml lists with more linters for editors
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

verify: verify-format vet lint verify-generate verify-darwin ## everything that must hold before a commit, but for tests

verify-format: ## gofmt has nothing to say
	@files=$$(git ls-files '*.go'); test -n "$$files" || { echo "verify-format: git lists no files here"; exit 1; }; \
	out=$$(gofmt -l $$files) || exit 1; test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }

verify-generate: ## the generated code is that of the .proto files (needs protoc)
	@command -v protoc >/dev/null || { echo "verify-generate: no protoc (apt-get install -y protobuf-compiler)"; test -z "$$CI"; exit; }; \
	tmp=$$(mktemp -d) && trap 'rm -rf $$tmp' EXIT && $(MAKE) -s generate PROTO_OUT=$$tmp && \
	for f in dbtesterpb/*.pb.go; do diff -I '^// .*protoc ' -q $$f $$tmp/$$f >/dev/null || { echo "$$f is not what the .proto files give: make generate"; exit 1; }; done

verify-darwin: ## the program compiles for macOS
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -trimpath -o /dev/null ./cmd/dbtester

PROTO_OUT ?= .
generate: ## generate dbtesterpb from its .proto files (needs protoc)
	@mkdir -p bin/tools && $(GO) build -o bin/tools/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
	PATH="$(CURDIR)/bin/tools:$$PATH" protoc --go_out=$(PROTO_OUT) --go_opt=module=github.com/coreos/dbtester \
		--go-grpc_out=$(PROTO_OUT) --go-grpc_opt=module=github.com/coreos/dbtester dbtesterpb/agent.proto dbtesterpb/generator.proto

# Only some packages know the flag, and any of their tests may compare with a file.
update: ## rewrite the files that tests compare with, by every test of the packages that have some; minutes
	$(GO) test -p 1 -timeout 30m $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"|databasetest\.Main\(' . | xargs -n1 dirname | sort -u) -update

# Without its discoveries of services, Prometheus builds in two minutes of processor time.
prometheus: build ## a real Prometheus scrapes a run, and its sums equal the records: test-results/prometheus.md; some minutes, of which its build takes most the first time
	cd tools/prometheus && CGO_ENABLED=0 $(GO) build -tags remove_all_sd -o ../../bin/prometheus github.com/prometheus/prometheus/cmd/prometheus
	cd tools/prometheus && $(GO) run . -dbtester $(CURDIR)/bin/dbtester -prometheus $(CURDIR)/bin/prometheus -version $$($(GO) list -m -f '{{.Version}}' github.com/prometheus/prometheus) >../../bin/prometheus.md; \
	status=$$?; mv ../../bin/prometheus.md ../../test-results/prometheus.md && exit $$status

tools-build:
	@scripts/check-tools.sh build

tools-test:
	@scripts/check-tools.sh test

tools-kube:
	@scripts/check-tools.sh kube

clean: ## remove what was built; results stay
	rm -rf bin
