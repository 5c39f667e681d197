// SPDX-License-Identifier: Apache-2.0
// How a seed and a number become a state: both pass the finaliser, as no two streams of one seed
// may be shifts of each other by a few numbers.
#include "measure/stream.h"

#include "base/misuse.h"

#include <string.h>

#define GOLDEN 0x9E3779B97F4A7C15u /* 2^64 over the golden ratio: SplitMix64's step */

static uint64_t finish_bits(uint64_t z) {
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static uint64_t next_bits(struct stream *stream) {
	return finish_bits(stream->state += GOLDEN);
}

struct stream stream_of(uint64_t seed, uint64_t which) {
	return (struct stream){finish_bits(finish_bits(seed + GOLDEN) + which * GOLDEN + 1)};
}

uint64_t stream_below(struct stream *stream, uint64_t limit) {
	REQUIRE(limit >= 1);
	// 2^64 is no multiple of most limits: what lies above the largest multiple is drawn again.
	const uint64_t excess = (UINT64_MAX % limit + 1) % limit;
	uint64_t bits;
	do bits = next_bits(stream);
	while (bits > UINT64_MAX - excess);
	return bits % limit;
}

void stream_resample(struct stream *stream, size_t count, uint32_t *times) {
	memset(times, 0, count * sizeof *times);
	for (size_t i = 0; i < count; i++) times[stream_below(stream, count)]++;
}

void stream_recount(struct stream *stream, const uint32_t *ends, size_t cells, uint32_t *drawn) {
	memset(drawn, 0, cells * sizeof *drawn);
	for (uint32_t i = 0; i < ends[cells - 1]; i++) {
		const uint64_t which = stream_below(stream, ends[cells - 1]);
		// The first cell that ends behind it.
		size_t low = 0, high = cells - 1;
		while (low < high) {
			const size_t middle = (low + high) / 2;
			if (ends[middle] > which) high = middle;
			else low = middle + 1;
		}
		drawn[low]++;
	}
}
