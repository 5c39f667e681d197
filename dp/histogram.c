// SPDX-License-Identifier: Apache-2.0
// histogram.c: see histogram.h.
#include "dp/histogram.h"

#include "base/misuse.h"
#include "dp/noise.h"

#include <string.h>

enum dp_status dp_histogram(const uint32_t *cluster, size_t records, uint32_t clusters, uint32_t t,
                            const struct dp_random *random, int64_t *noisy) {
	REQUIRE(clusters >= 1 && clusters <= DP_MOST_CLUSTERS && t >= 1 && t <= DP_MOST_SCALE);
	/* Records of no cluster are counted, too, where nobody looks: so a record takes the same
	 * steps whether it has a cluster or not. */
	int64_t counts[DP_MOST_CLUSTERS + 1] = {0};
	enum dp_status status = DP_OK;
	for (uint32_t c = 0; status == DP_OK && c < clusters; c++)
		status = dp_noise_laplace(t, random, &counts[c]);
	for (size_t i = 0; status == DP_OK && i < records; i++) {
		REQUIRE((cluster[i] < clusters) | (cluster[i] == DP_NO_CLUSTER));
		counts[cluster[i] < clusters ? cluster[i] : clusters]++;
	}
	for (uint32_t c = 0; c < clusters; c++) noisy[c] = status == DP_OK ? counts[c] : 0;
	explicit_bzero(counts, sizeof counts);
	return status;
}
