// SPDX-License-Identifier: Apache-2.0
// The members that a quote has beside those of a receipt. tools/common/quote.h says who reads it.
#include "tools/common/quote.h"

int quote_print(const struct verb *verb, json_t *receipt, uint64_t needed,
                const struct ledger_request *price) {
	static const char *const measures[] = {"rho", "rdp", "epsilon"};
	const struct jsonout_member charge[] = {
	    {"measure", json_string(measures[price->measure])},
	    {"order", price->order ? json_integer(price->order) : json_null()},
	    {"loss", jsonout_real(price->rho)},
	    {"delta", price->delta > 0 ? json_real(price->delta) : json_null()},
	};
	const struct jsonout_member members[] = {
	    {"charge", jsonout_extend(json_object(), charge, sizeof charge / sizeof *charge)},
	    {"references_needed", json_integer((json_int_t)needed)},
	};
	// What only a run has is left out, where the receipt would have it empty.
	static const char *const absent[] = {"date", "ledger", "output_sha256"};
	for (size_t i = 0; receipt && i < sizeof absent / sizeof *absent; i++)
		(void)json_object_del(receipt, absent[i]);
	return verb_print(verb, jsonout_extend(receipt, members, sizeof members / sizeof *members),
	                  JSON_COMPACT | JSON_SORT_KEYS);
}
