// SPDX-License-Identifier: Apache-2.0
// status.h: what a call into dp/ can answer. Every fallible function of dp/ returns one of these.
//
// No answer depends on a private text, so a caller may print it.
#ifndef CUTTLE_DP_STATUS_H
#define CUTTLE_DP_STATUS_H

enum dp_status {
	DP_OK,
	DP_BAD_PARAMETER, /* a parameter is out of range, or contradicts another */
	DP_NO_MEMORY,     /* an allocation failed */
	DP_NO_ENTROPY,    /* the random source failed; nothing was drawn, nothing will be */
	DP_SELF_CHECK,    /* the weight table failed its exhaustive check; no mechanism is built */
	DP_SPENT,         /* the batch has drawn its T tokens */
	DP_PUBLIC_NOT_FINITE /* a public logit is NaN or infinite */
};

/* One line of English without a newline; a static string. */
const char *dp_status_text(enum dp_status status);

#endif
