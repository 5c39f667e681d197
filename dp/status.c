// SPDX-License-Identifier: Apache-2.0
// status.c: see status.h.
#include "dp/status.h"

const char *dp_status_text(enum dp_status status) {
	switch (status) {
	case DP_OK:
		return "ok";
	case DP_BAD_PARAMETER:
		return "a privacy parameter is out of range";
	case DP_NO_MEMORY:
		return "out of memory";
	case DP_NO_ENTROPY:
		return "the operating system gives no random bits; nothing was drawn";
	case DP_SELF_CHECK:
		return "the exhaustive check of the weight table failed";
	case DP_SPENT:
		return "the batch has drawn all its tokens";
	case DP_PUBLIC_NOT_FINITE:
		return "the public logits are not finite";
	}
	return "unknown status";
}
