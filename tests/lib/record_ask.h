/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module from memory, asked everything.
 */
#ifndef GS_TESTS_RECORD_ASK_H
#define GS_TESTS_RECORD_ASK_H

#include <stddef.h>
#include <stdint.h>

/* The first byte chooses how much of the index is read and whether all is listed; the file follows.
 */
void ask_module(const uint8_t *data, size_t size);

#endif
