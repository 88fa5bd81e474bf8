/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the running kernel offers, found out by trying. Private to bpf/.
 */
#ifndef GS_BPF_FEATURES_H
#define GS_BPF_FEATURES_H

#include "bpf/program.h"

/* The pid namespace that the caller numbers processes in. */
struct gs_pid_namespace {
	bool initial;
	uint64_t dev, ino;
};
void gs_pid_namespace_read(struct gs_pid_namespace *ns);

/* Features that are in MASK and work; dependent ones are cleared with what they need. */
uint32_t gs_features_probe(uint32_t mask, const struct gs_pid_namespace *ns);

#endif
