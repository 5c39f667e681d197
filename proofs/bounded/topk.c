// SPDX-License-Identifier: Apache-2.0
// topk.c: kth_largest, heap and all, is the k-th largest allowed value of up to 4 tokens. It only
// compares values, so 8 of them are enough.
#include "bounded.h"

#include "dp/topk.c"

#define MOST 4

int main(void) {
	int32_t fixed[MOST], heap[MOST];
	uint8_t allowed[MOST];
	const uint32_t k = unknown_u32();
	ASSUME(k >= 1 && k < MOST);
	uint32_t total = 0;
	for (int i = 0; i < MOST; i++) {
		fixed[i] = (int32_t)(unknown_u32() & 7);
		allowed[i] = unknown_u8() & 1;
		total += allowed[i];
	}
	const int64_t kth = kth_largest(fixed, allowed, MOST, k, heap);
	CLAIM((kth == INT32_MIN) == (total <= k));
	if (total > k) {
		uint32_t at_least = 0, above = 0;
		for (int i = 0; i < MOST; i++) {
			at_least += allowed[i] && fixed[i] >= kth;
			above += allowed[i] && fixed[i] > kth;
		}
		CLAIM(at_least >= k && above < k);
	}
	return 0;
}
