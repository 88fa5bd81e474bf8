# SPDX-License-Identifier: BSD-2-Clause
# gs: one non-recursive Makefile. `make help' lists the targets.

VERSION := 0.1.0
prefix ?= /usr/local
bindir ?= $(prefix)/bin
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/gs
DESTDIR ?=
PYTHON ?= python3
PROVE ?= prove
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

CC ?= cc
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wstrict-prototypes -Wvla
GS_CPPFLAGS := -I. -D_GNU_SOURCE -DGS_VERSION='"$(VERSION)"' $(CPPFLAGS)
GS_CFLAGS := -std=gnu11 $(WARN) $(SAN) $(CFLAGS)
# B: build directory, so that sanitizer and clang builds live beside the plain one.
B ?= build

Q := @
ifeq ($(V),1)
Q :=
endif
say = $(if $(Q),@printf '  %-6s %s\n' $(1) $(2),@:)

folders := common format bpf record report
src = $(sort $(wildcard $(1)/*.c))
obj = $(patsubst %.c,$(B)/%.o,$(filter-out $(1)/main.c,$(call src,$(1))))
lib = $(B)/lib$(1).a

# Optional libraries of gs-record, found by a test link: WITH_ZSTD=0, WITH_LZMA=0 leave one out. (libdebuginfod
# is opened at run time, where DEBUGINFOD_URLS asks for it.)
has = $(shell printf '\043include <$(1)>\nint main(void) { return 0; }\n' | \
	$(CC) $(CPPFLAGS) -x c - $(LDFLAGS) $(2) -o /dev/null 2>/dev/null && echo 1 || echo 0)
ifndef WITH_ZSTD
WITH_ZSTD := $(call has,zstd.h,-lzstd)
endif
ifndef WITH_LZMA
WITH_LZMA := $(call has,lzma.h,-llzma)
endif
optional_defs := $(if $(filter 1,$(WITH_ZSTD)),-DGS_HAVE_ZSTD) $(if $(filter 1,$(WITH_LZMA)),-DGS_HAVE_LZMA)
optional_libs := $(if $(filter 1,$(WITH_ZSTD)),-lzstd) $(if $(filter 1,$(WITH_LZMA)),-llzma)
$(B)/record/%.o: GS_CPPFLAGS += $(optional_defs)

# Which archives a folder's programs and tests need, most dependent first (design section 1).
needs_common := $(call lib,common)
needs_format := $(call lib,format) $(needs_common)
needs_report := $(call lib,report) $(needs_format)
needs_bpf := $(call lib,bpf) $(needs_format)
needs_record := $(call lib,record) $(call lib,bpf) $(needs_format)
libs_common := -lm -lpthread
libs_format := -llz4 $(libs_common)
libs_report := -lcapstone $(libs_format)
libs_bpf := -lbpf -lelf -lz $(libs_format)
libs_record := -ldw -lcapstone $(libs_bpf) $(optional_libs) -ldl

ifeq ($(B),build)
RECORD := gs-record
REPORT := gs-report
else
RECORD := $(B)/gs-record
REPORT := $(B)/gs-report
endif

all: $(RECORD) $(REPORT)

$(RECORD): $(B)/record/main.o $(needs_record)
	$(call say,LINK,$@)
	$(Q)$(CC) $(GS_CFLAGS) $(LDFLAGS) -o $@ $^ $(libs_record)

$(REPORT): $(B)/report/main.o $(needs_report)
	$(call say,LINK,$@)
	$(Q)$(CC) $(GS_CFLAGS) $(LDFLAGS) -o $@ $^ $(libs_report)

define folder_rule
$(call lib,$(1)): $(call obj,$(1))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$(filter %.o,$$^)
endef
$(foreach f,$(folders),$(eval $(call folder_rule,$(f))))

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(GS_CPPFLAGS) $(GS_CFLAGS) -MMD -MP -c -o $@ $<

# ---- unit tests: tests/unit/FOLDER_*.c, each its own program, linked by its folder's needs ----

unit_src := $(sort $(wildcard tests/unit/*.c))
unit_of = $(patsubst tests/unit/%.c,$(B)/unit/%.t,$(filter tests/unit/$(1)_%.c,$(unit_src)))
# What a folder's tests share, as an archive: a test with fakes of its own takes nothing that it does not name.
helpers_of = $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/lib/$(1)_*.c)))
define unit_rule
$(B)/libtests_$(1).a: $(call helpers_of,$(1))
	$$(call say,AR,$$@)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && $(AR) rcs $$@ $$^
$(call unit_of,$(1)): $(B)/unit/%.t: $(B)/tests/unit/%.o $(B)/libtests_$(1).a $(needs_$(1))
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(GS_CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(libs_$(1))
endef
$(foreach f,$(folders),$(eval $(call unit_rule,$(f))))
unit_report := $(call unit_of,common) $(call unit_of,format) $(call unit_of,report)
unit_all := $(unit_report) $(call unit_of,bpf) $(call unit_of,record)

unit: $(unit_all)
	$(PROVE) --exec '' -j$(JOBS) $(unit_all)

# ---- what is missing, installed by the system's package manager ----

# Build: the two programs. Check: the tests, with gdb as the oracle for values.
apt_build := gcc libc6-dev libbpf-dev libdw-dev libelf-dev zlib1g-dev liblz4-dev libcapstone-dev \
	libzstd-dev liblzma-dev
apt_check := dwz lld llvm xz-utils libzstd1 debuginfod util-linux clang clang-format g++ gdb python3 perl binutils libc6-dbg gcc-multilib procps tcl
apt_demo := libc6-dbg python3
dnf_build := gcc glibc-devel libbpf-devel elfutils-devel elfutils-libelf-devel zlib-devel lz4-devel \
	capstone-devel libzstd-devel xz-devel
dnf_check := dwz lld llvm xz libzstd elfutils-debuginfod util-linux clang clang-tools-extra gcc-c++ gdb python3 perl-Test-Harness binutils procps-ng tcl
dnf_demo := python3

# One recipe for each set: list what is missing, say it, install it. Nothing is asked and nothing is
# installed when all is there, so that the build needs no network and no root then.
define deps_rule
$(1):
	@set -e; \
	if command -v apt-get >/dev/null; then \
		missing=; for p in $(2); do \
			dpkg-query -W -f='$$$${Status}' $$$$p 2>/dev/null | grep -q 'ok installed' || \
				missing="$$$$missing $$$$p"; done; \
		[ -z "$$$$missing" ] && exit 0; \
		echo "make $(1): installing with apt-get:$$$$missing"; \
		apt-get update -q >/dev/null; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
			$$$$missing >/dev/null; \
	elif command -v dnf >/dev/null; then \
		missing=; for p in $(3); do rpm -q $$$$p >/dev/null 2>&1 || missing="$$$$missing $$$$p"; done; \
		[ -z "$$$$missing" ] && exit 0; \
		echo "make $(1): installing with dnf:$$$$missing"; \
		dnf install -y -q $$$$missing; \
	else \
		echo "make $(1): neither apt-get nor dnf here; install by hand: $(2)" >&2; exit 1; \
	fi
.PHONY: $(1)
endef
$(eval $(call deps_rule,deps-build,$(apt_build),$(dnf_build)))
$(eval $(call deps_rule,deps-demo,$(apt_demo),$(dnf_demo)))
$(eval $(call deps_rule,deps-check,$(apt_check),$(dnf_check)))
# Real programs that the live tests record. A distribution may not have one: its test then skips, and says so.
apt_real := redis-server redis-tools python3.11-dbg
deps-real: deps-check
	@if command -v apt-get >/dev/null; then for p in $(apt_real); do \
		dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' && continue; \
		apt-cache show $$p >/dev/null 2>&1 || { echo "make deps: no package $$p here"; continue; }; \
		echo "make deps: installing with apt-get: $$p"; \
		DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q --no-install-recommends \
			$$p >/dev/null; done; fi
.PHONY: deps-real
deps: deps-build deps-demo deps-check deps-real

# ---- demo and tests ----

demo: deps-build deps-demo
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)./tests/demo/run

script_tests := $(sort $(wildcard tests/tree/*.sh tests/live/*.sh tests/live/*.py))

check: deps
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all build-unit
	$(Q)PYTHON=$(PYTHON) $(PROVE) --exec '' -j$(JOBS) --rules='par=$(B)/unit/*' --rules='seq=**' \
		$(unit_all) $(script_tests)

# The whole of what `check' takes samples of: every configuration against gdb (half an hour), and 200 functions and
# lines of each big program, sqlite built from its source package among them.
check-matrix: deps all
	$(Q)GS_MATRIX=all $(PYTHON) tests/live/matrix.py
check-big: deps all
	$(Q)GS_BIG=all $(PYTHON) tests/live/big.py

# What a machine with only a C compiler, liblz4 and libcapstone can build and test.
check-report: $(REPORT) $(unit_report)
	$(Q)if command -v $(PROVE) >/dev/null; then \
		$(PROVE) --exec '' -j$(JOBS) $(unit_report); \
	else \
		failed=; for t in $(unit_report); do \
			echo "$$t"; $$t >$(B)/check-report.tap || { cat $(B)/check-report.tap; failed="$$failed $$t"; }; \
		done; \
		[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }; \
	fi

SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
check-asan:
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) B=build-asan SAN="$(SAN_FLAGS)" CFLAGS="-O1 -g" unit

build-unit: $(unit_all)

# ---- fuzz targets: tests/fuzz/NAME.c, built by `make fuzz-NAME' with clang's libFuzzer ----

fuzz-%:
	$(Q)mkdir -p build-fuzz
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) B=build-fuzz CC=clang CFLAGS="-O1 -g" \
		SAN="-fsanitize=fuzzer-no-link,address,undefined" build-fuzz/fuzz-$*

$(B)/fuzz-%: tests/fuzz/%.c $(B)/libtests_common.a $(B)/libtests_record.a $(call lib,report) $(needs_record)
	$(call say,LINK,$@)
	$(Q)$(CC) $(GS_CPPFLAGS) $(GS_CFLAGS) -fsanitize=fuzzer -Wno-missing-prototypes -o $@ $^ \
		$(libs_record)

# ---- install ----

man1 := Documentation/gs-record.1 Documentation/gs-report.1
man5 := Documentation/gs-file.5
man7 := Documentation/gs-probe.7

install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5 \
		$(DESTDIR)$(mandir)/man7 $(DESTDIR)$(docdir)
	install -m 755 $(RECORD) $(REPORT) $(DESTDIR)$(bindir)
	install -m 644 $(man1) $(DESTDIR)$(mandir)/man1
	install -m 644 $(man5) $(DESTDIR)$(mandir)/man5
	install -m 644 $(man7) $(DESTDIR)$(mandir)/man7
	install -m 644 README.md LICENSE $(DESTDIR)$(docdir)

uninstall:
	rm -f $(addprefix $(DESTDIR)$(bindir)/,gs-record gs-report) \
		$(addprefix $(DESTDIR)$(mandir)/man1/,$(notdir $(man1))) \
		$(addprefix $(DESTDIR)$(mandir)/man5/,$(notdir $(man5))) \
		$(addprefix $(DESTDIR)$(mandir)/man7/,$(notdir $(man7)))
	rm -rf $(DESTDIR)$(docdir)

format:
	clang-format -i $(wildcard $(addsuffix /*.[ch],$(folders)) tests/*.h tests/*/*.[ch])

help:
	@echo "gs $(VERSION): record typed user-space events, report them anywhere"
	@echo
	@echo "  all           build gs-record and gs-report here (default)"
	@echo "  gs-report     only the reporter: needs a C compiler, liblz4 and libcapstone"
	@echo "  deps          install what is missing to build, demonstrate and test (root)"
	@echo "  demo          install, build, record a real program and report it (root)"
	@echo "  check         install, build and run all tests (root: live probes)"
	@echo "  check-matrix  every compiler configuration against gdb (half an hour)"
	@echo "  check-big     many places of big programs against gdb"
	@echo "  check-report  build and test the reporter alone"
	@echo "  check-asan    unit tests under AddressSanitizer and UBSan"
	@echo "  fuzz-NAME     build the fuzz target tests/fuzz/NAME.c"
	@echo "  install       to DESTDIR and prefix=$(prefix)"
	@echo "  uninstall     remove what install put there"
	@echo "  format        clang-format all sources"
	@echo "  clean         remove everything that was built"
	@echo
	@echo "  variables     V=1 shows commands; CC, CFLAGS, LDFLAGS, prefix, DESTDIR"

clean:
	rm -rf build build-* gs-record gs-report

.PHONY: all unit build-unit deps demo check check-matrix check-big check-report check-asan install uninstall format help clean
.SECONDARY:
.DELETE_ON_ERROR:

-include $(shell find $(B) -name '*.d' 2>/dev/null)
