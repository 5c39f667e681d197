// SPDX-License-Identifier: Apache-2.0
// seats.c: see seats.h. Fractions are compared by their cross products, in 128 bits.
#include "dp/seats.h"

#include "base/misuse.h"
#include "dp/amplify.h"
#include "dp/rounding.h"

#include <stdlib.h>

#define MOST_COUNTED                                                                               \
	(UINT64_C(1) << 40) /* records and texts: sums and products stay far below 2^63 */

static uint64_t count_parts(uint64_t a, uint64_t b) {
	return a / b + (a % b != 0);
}

struct dp_share dp_seats_share(uint64_t texts, uint32_t clusters, uint64_t records,
                               uint32_t batch) {
	REQUIRE(texts >= 1 && texts <= MOST_COUNTED && clusters >= 1 && batch >= 1 &&
	        records <= MOST_COUNTED);
	const uint64_t wanted = texts + count_parts(clusters, 2);
	const uint64_t there = records ? count_parts(records, batch) : 1;
	return (struct dp_share){wanted < there ? wanted : there, there};
}

uint64_t dp_seats_batches(int64_t noisy, uint32_t batch, uint32_t t, bool up) {
	REQUIRE(batch >= 1 && t >= 1);
	const int64_t twice = 2 * (int64_t)t, least = batch > twice ? batch : twice;
	return noisy >= least ? ((uint64_t)noisy + (up ? batch - 1 : batch / 2)) / batch : 0;
}

uint64_t dp_seats_records(uint64_t batches, uint32_t batch) {
	REQUIRE(batches >= 1 && batches <= UINT64_C(1) << 31 && batch >= 1);
	return batches * batch + (batch - 1) / 2;
}

/* Whether a/b < c/d. */
static bool is_less_share(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
	return (unsigned __int128)a * d < (unsigned __int128)c * b;
}

uint64_t dp_seats_deal(const uint64_t *batches, uint32_t clusters, uint64_t texts,
                       struct dp_share most, uint64_t *used) {
	REQUIRE(most.num >= 1 && most.num <= most.den);
	for (uint32_t c = 0; c < clusters; c++) used[c] = 0;
	for (uint64_t dealt = 0; dealt < texts; dealt++) {
		uint32_t next = clusters;
		for (uint32_t c = 0; c < clusters; c++) {
			if (used[c] == batches[c] ||
			    is_less_share(most.num, most.den, used[c] + 1, batches[c]))
				continue;
			if (next == clusters ||
			    is_less_share(used[c] + 1, batches[c], used[next] + 1, batches[next]))
				next = c;
		}
		if (next == clusters) return dealt;
		used[next]++;
	}
	return texts;
}

enum dp_status dp_seats_cap(const int64_t *noisy, const uint64_t *batches, const uint64_t *used,
                            uint32_t clusters, uint32_t t, double epsilon, double delta,
                            uint32_t *cap) {
	REQUIRE(t >= 1 && positive(epsilon) && probability(delta));
	/* (1 + e^epsilon) k e^(-x/t) = 2^-20 delta / 2 */
	const long double e = (long double)epsilon,
	                  ratio = logl(2.0L * clusters * 0x1p20L / (long double)delta) + e +
	                          log1pl(expl(-e)),
	                  beyond = ceill(t * ratio * (1.0L + SIMPLE));
	struct dp_lots *lots = calloc((size_t)clusters + 1, sizeof *lots);
	size_t count = 0;
	if (!lots) return DP_NO_MEMORY;
	for (uint32_t c = 0; c < clusters; c++)
		if (batches[c] > 0)
			lots[count++] =
			    (struct dp_lots){.records = (uint64_t)noisy[c] + (uint64_t)beyond,
			                     .batches = batches[c],
			                     .used = used[c]};
	const enum dp_status status =
	    count ? dp_rows_cap(lots, count, epsilon, delta / 2.0, cap) : DP_BAD_PARAMETER;
	free(lots);
	return status;
}
