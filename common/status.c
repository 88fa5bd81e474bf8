/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words for statuses: absence travels end to end, and is named the same by every renderer.
 * Between event columns and JSON, CSV and text.
 */
#include "common/status.h"

static const char *const names[GS_STATUS_COUNT] = {
	[GS_STATUS_OK] = "ok",
	[GS_STATUS_OPTIMIZED_OUT] = "optimized-out",
	[GS_STATUS_FAULT] = "fault",
	[GS_STATUS_TRUNCATED] = "truncated",
	[GS_STATUS_UNAVAILABLE] = "unavailable",
	[GS_STATUS_NOT_COLLECTED] = "not-collected",
	[GS_STATUS_DIV_ZERO] = "division-by-zero",
	[GS_STATUS_BAD_SHIFT] = "bad-shift",
	[GS_STATUS_PARTIAL] = "truncated",
	[GS_STATUS_BAD_RANGE] = "bad-range",
};

const char *gs_status_name(unsigned status)
{
	return status < GS_STATUS_COUNT ? names[status] : "unknown";
}
