# Governor's commands. Each one installs and builds what it needs; Go, a C
# compiler (for the race detector) and the Go module proxy are enough.

GO       ?= go
FUZZTIME ?= 10s
RUNS     ?= 2
# Trees that are linted: our module, without what other modules own.
GOFILES  := $(shell find . -name '*.go' -not -path './bin/*')

.PHONY: help demo demo-real test e2e check bench study fuzz controlplane clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the replicator on an API server in memory, or on $KUBECONFIG's cluster
	@mkdir -p bin && $(GO) build -o bin/demo ./cmd/demo && exec bin/demo --play

demo-real: controlplane ## the same on a real etcd and kube-apiserver
	@$(GO) build -o bin/demo ./cmd/demo && KUBECONFIG= exec bin/demo --play --real

test: ## every test that needs no control plane, with the race detector
	$(GO) test -race -skip '^TestE2E' ./...
	$(GO) -C study test ./...

e2e: ## the end-to-end tests, on a real etcd, kube-apiserver and kube-controller-manager
	@GO="$(GO)" sh hack/controlplane/build.sh kube-controller-manager
	$(GO) test -race -count=1 -p 2 -timeout 20m -run '^TestE2E' ./...

check: bin/staticcheck ## gofmt, vet, staticcheck, layer and doc tests
	@unformatted=$$(gofmt -l $(GOFILES)); test -z "$$unformatted" || { echo "gofmt -w these files:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	bin/staticcheck ./...
	$(GO) test -run '^(TestLayers|TestDocs|TestUpstream|TestReadme)' .

bench: ## every benchmark
	$(GO) test -run '^$$' -bench . -benchmem ./...

study: ## side by side with upstream: ratios, each taken in one run
	$(GO) -C study run ./queue
	$(GO) -C study run ./bench -runs $(RUNS)

fuzz: ## 10,000 histories of the informer's model, then every fuzz target for $(FUZZTIME)
	$(GO) test -run '^TestModel' -timeout 30m ./informer -model.seeds 10000
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg || exit 1; \
	  done; \
	done

controlplane: ## etcd and kube-apiserver, built once into bin/controlplane/
	@GO="$(GO)" sh hack/controlplane/build.sh

bin/staticcheck: hack/tools/go.mod hack/tools/go.sum
	$(GO) -C hack/tools build -o ../../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

clean: ## remove what was built
	rm -rf bin
