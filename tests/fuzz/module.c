/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: an ELF file with its debug information, asked everything. The corpus is small
 * programs of gcc and clang: DWARF 4 and 5, LTO, type units, dwz, compressed, i386.
 */
#include "tests/lib/record_ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ask_module(data, size);
	return 0;
}
