# Everything a developer runs. Each target sets up what it needs first.

VENV := .venv/bin
KERNEL_HEADERS := $(wildcard src/kernel/*/*.hpp lab/*/*.hpp)
KERNEL_SOURCES := $(foreach suffix,pyx pxd pxi,$(wildcard src/twigcast/*/*.$(suffix))) $(KERNEL_HEADERS) \
	$(wildcard $(foreach name,operators functions expression_codes,src/twigcast/language/$(name).py) lab/*/*.pyx)
INSTALLED := .venv/installed
JAVA := .venv/java-home/bin/java
SPARK_CLASSES := .venv/spark-classes.jsa
# A DTD of the world outside, where the folder of real data is beside this checkout.
REAL_DTD := $(wildcard ../shared/data/dtd/nitf-2-5.dtd)

.PHONY: help setup servers demo test lint nightly sanitize bench docs wheel constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) $(JAVA) ## make .venv, install the pinned dependencies, build the kernel, find a JVM

# When nothing but the kernel's sources are newer, only the kernel is built again.
$(INSTALLED): pyproject.toml lab/pyproject.toml constraints.txt setup.py lab/setup.py tools/setup.sh $(KERNEL_SOURCES)
	@tools/setup.sh $(if $(filter-out $(KERNEL_SOURCES),$?),all,kernel)
	@touch $@

# The link leads to a JVM outside, so it is also made anew when that JVM has gone.
$(JAVA): | $(INSTALLED)
	@$(VENV)/python tools/find_java.py

# With the classes of Spark in an archive, a JVM starts in half the time.
$(SPARK_CLASSES): | $(INSTALLED) $(JAVA)
	$(VENV)/python tools/archive_spark_classes.py $@

servers: ## install what optional tests need: PostgreSQL, where it is missing and we may
	@tools/servers.sh

demo: setup ## route a small news feed through seven brokers, on Spark
	$(VENV)/python tools/demo.py build/demo

test: lint $(SPARK_CLASSES) ## lint, then run the tests
	$(VENV)/pytest -n 2 --dist loadgroup -m "not slow"

lint: setup ## ruff, ruff format, mypy strict, clang-format, the schema of workflow files
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(VENV)/mypy
	$(VENV)/clang-format --dry-run -Werror $(KERNEL_HEADERS)
	$(VENV)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

nightly: lint $(SPARK_CLASSES) ## all tests, the long ones too, with many more random cases
	$(VENV)/pytest -n 2 --dist loadgroup --hypothesis-profile=nightly

sanitize: setup ## the tests of the kernel and a short fuzzing, with sanitizers
	@tools/sanitize.sh

bench: setup ## our own speed, beside peers and beside the last release
	$(VENV)/twigcast-lab bench $(if $(REAL_DTD),--dtd $(REAL_DTD) --root nitf) --output build/bench

docs: setup ## the pages of docs/ as a site in site/
	$(VENV)/mkdocs build --quiet --strict

wheel: setup ## the source archive, and a wheel made from it, in dist/
	tools/wheel.sh dist

constraints: setup ## pin the newest versions that install together, in constraints.txt
	$(VENV)/python tools/pin.py

clean: ## remove everything that the other targets make
	rm -rf .venv build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf src/twigcast.egg-info lab/twigcast_lab.egg-info lab/build src/twigcast/*/*.so lab/*/*.so
	find src lab tests tools -name __pycache__ -type d -exec rm -rf {} +
