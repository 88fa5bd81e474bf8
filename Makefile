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
libs_record := -ldw -lcapstone $(libs_bpf)

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
helper_src := $(sort $(wildcard tests/lib/*.c))
define unit_rule
$(call unit_of,$(1)): $(B)/unit/%.t: $(B)/tests/unit/%.o $$(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/$(1)_*.c)) $(needs_$(1))
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(GS_CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(libs_$(1))
endef
$(foreach f,$(folders),$(eval $(call unit_rule,$(f))))
unit_report := $(call unit_of,common) $(call unit_of,format) $(call unit_of,report)
unit_all := $(unit_report) $(call unit_of,bpf) $(call unit_of,record)

unit: $(unit_all)
	$(PROVE) -j$(JOBS) $(unit_all)

clean:
	rm -rf build build-* gs-record gs-report

.PHONY: all unit clean
.SECONDARY:
.DELETE_ON_ERROR:

-include $(shell find $(B) -name '*.d' 2>/dev/null)
