// SPDX-License-Identifier: Apache-2.0
// seeded.c: each 8-byte word is a hash of seed, heading, text, step and counter; see seeded.h.
#include "engine/run/plan/seeded.h"

#include <string.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix_bits(uint64_t x) {
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static enum dp_status fill_seeded_bytes(void *user, void *bytes, size_t size) {
	struct seeded *s = user;
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		const uint64_t word = mix_bits(
		    mix_bits(mix_bits(mix_bits(s->seed) ^ s->heading << 48 ^ s->text) ^ s->step) ^
		    s->counter++);
		memcpy((char *)bytes + at, &word,
		       size - at < sizeof word ? size - at : sizeof word);
	}
	return DP_OK;
}

struct dp_random seeded_random(struct seeded *seeded) {
	return (struct dp_random){fill_seeded_bytes, seeded};
}
