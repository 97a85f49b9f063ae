# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help conformance real-scale rerun check test lies foreign-driver mutants soak plan lint format lock node-image stubs clean clean-cache


KUBERNETES ?= v1.37.2
JOBS       ?= 6
RUNS       ?= 10
LAST       ?= reports/latest

# Only what is given to make counts: an exported KUBECONFIG selects nothing.
given = $(if $(filter command,$(firstword $(origin $(1)))),$(2))
PYTEST  := .venv/bin/python -m pytest
OPTIONS  = $(if $(PROVIDER),--wrc-provider=$(PROVIDER)) --wrc-kubernetes=$(KUBERNETES) -n $(JOBS) \
  $(call given,BINARIES,--wrc-binaries="$(abspath $(BINARIES))") \
  $(call given,KUBECONFIG,--wrc-kubeconfig="$(KUBECONFIG)") \
  $(call given,CONTEXT,--wrc-context="$(CONTEXT)") \
  $(call given,DRIVER,--wrc-driver="$(DRIVER)") \
  $(call given,CHECKS,--wrc-checks="$(CHECKS)") \
  $(call given,REPORT,--wrc-report="$(REPORT)") \
  $(call given,KEEP,--wrc-keep) $(ARGS)

help: ## Show this help
	@printf 'Conformance suite for Kubernetes Workload ResourceClaims (KEP-5729)\n\n'
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables (make conformance NAME=value)\n'
	@printf '  %-12s %s\n' \
	  KUBERNETES 'version that kind or local starts (now: $(KUBERNETES))' \
	  PROVIDER   'where the cluster comes from: kind, local or existing (default: kind where Docker works)' \
	  BINARIES   'folder with your own build of the Kubernetes components' \
	  KUBECONFIG 'kubeconfig for PROVIDER=existing; an exported one is not used' \
	  CONTEXT    'context for PROVIDER=existing; must be named' \
	  DRIVER     'DRA driver of the kubelets: reference (default), or upstream, Kubernetes'"'"' own, on kind' \
	  CHECKS     'requirement IDs, areas or a pytest -k expression: CHECKS=WRC-RES-002,LIF' \
	  REPORT     'report folder (default: reports/<time>-<version>-<provider>)' \
	  JOBS       'checks that run side by side (now: $(JOBS))' \
	  KEEP       'KEEP=1 leaves the kind cluster, or what the checks created on an existing one' \
	  ARGS       'further pytest options: ARGS="--wrc-time-scale=2 -v"; all of them: pytest --help'

conformance: .venv/ready node_modules/ready ## Judge a cluster: start it, run all checks, write the report
	@$(PYTEST) conformance $(OPTIONS)

rerun: .venv/ready node_modules/ready ## Run again what was not conformant in the last run (LAST=folder)
	@$(PYTEST) conformance $(OPTIONS) --wrc-rerun=$(LAST)/verdicts.json

plan: .venv/ready ## List the checks that would run, without a cluster
	@$(PYTEST) conformance $(OPTIONS) -n 0 --collect-only -q

real-scale: .venv/ready node_modules/ready ## Let 260 Pods run on real kubelets and share one device; takes minutes
	@$(PYTEST) conformance $(OPTIONS) -n 1 --wrc-real-scale -o timeout=3600

soak: .venv/ready node_modules/ready ## Repeat the run RUNS times, shuffled, with long quiet periods; stop at the first that differs
	@for seed in $$(seq 1 $(RUNS)); do \
	  echo "== run $$seed of $(RUNS)"; \
	  $(PYTEST) conformance $(OPTIONS) --wrc-soak --wrc-shuffle=$$seed || exit $$?; \
	done

check: lint ## Lint, types and the tests that need no cluster; before every commit
	@$(PYTEST) tests -q -n 2 -m "not cluster"

test: .venv/ready node_modules/ready lint ## All tests of the suite: check, a control plane, every lie
	@$(PYTEST) tests -m "not mutant and not foreign" -o timeout=3300  # the first one may have to compile Kubernetes

lies: .venv/ready ## Run every check against every lie about it; each must be noticed
	@$(PYTEST) conformance $(OPTIONS) --wrc-lies

foreign-driver: .venv/ready ## Let Kubernetes' own test driver serve the node checks, on kind
	@$(PYTEST) tests/test_kind_cluster.py -m foreign

mutants: .venv/ready ## Build Kubernetes with one wrong line, again and again: the suite must name what it breaks
	@$(PYTEST) tests/mutants

lint: .venv/ready
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy

format: .venv/ready ## Format the code
	@.venv/bin/ruff check --fix
	@.venv/bin/ruff format

node-image: .venv/ready ## Make the image of a node for kind without an image registry (KUBERNETES, BINARIES)
	@.venv/bin/python -m fixtures.clusters.node_image $(KUBERNETES) $(call given,BINARIES,--own-build="$(abspath $(BINARIES))")

lock: .venv/ready ## Renew requirements.lock from pyproject.toml
	@.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --upgrade \
	  --group dev pyproject.toml --output-file requirements.lock

# The module that the stubs of the kubelet's APIs are made from, and the folder they go to.
KUBELET_APIS := k8s.io/kubelet@v0.37.2
STUBS        := fixtures/devices/reference/stubs

stubs: .venv/ready ## Generate the stubs of the kubelet's APIs again (needs go)
	@GOWORK=off go mod download $(KUBELET_APIS)
	@for api in dra pluginregistration podresources; do \
	  .venv/bin/python -m grpc_tools.protoc \
	    -I$(STUBS)/$$api="$$(go env GOMODCACHE)/$(KUBELET_APIS)/pkg/apis/$$api/v1" \
	    --python_out=. --pyi_out=. --grpc_python_out=. $(STUBS)/$$api/api.proto || exit $$?; \
	done

clean: ## Remove the environment, the reports and all caches in this folder
	@rm -rf .venv node_modules reports .mypy_cache .ruff_cache .hypothesis .pytest-kind

clean-cache: .venv/ready ## Remove the compiled and downloaded Kubernetes from the user's cache; says what it frees
	@.venv/bin/python -m fixtures.clusters.cache

.venv/ready: requirements.lock
	@echo "Creating the Python environment in .venv (about half a minute)"
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; python3 is $$(python3 --version)" >&2; exit 1; }
	@python3 -m venv --clear .venv || \
	  { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# The HTML report needs Node; without it everything else works, and the report says where the results are.
node_modules/ready: package-lock.json
	@if command -v npm >/dev/null; then \
	  echo "Installing the Allure report generator (npm)"; \
	  npm ci --silent --no-audit --no-fund || echo "npm failed: there will be no HTML report"; \
	else echo "There is no npm: there will be no HTML report, only its data"; fi
	@mkdir -p node_modules && touch $@
