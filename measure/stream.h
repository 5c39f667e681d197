// SPDX-License-Identifier: Apache-2.0
// stream.h: numbers that look random, and that a public seed fixes for all machines.
//
// It is for starts of k-means and for resampling. No private data, no secrets: nothing that a
// mechanism draws may come from here (dp/entropy.h is for that).
// Source: SplitMix64 (Steele, Lea and Flood 2014).
// Example: struct stream s = stream_of(1, 0); stream_below(&s, 6) is a fair number in 0 .. 5.
#ifndef CUTTLE_MEASURE_STREAM_H
#define CUTTLE_MEASURE_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct stream {
	uint64_t state;
};

/* The stream of a seed with number `which`. Streams of one seed are unrelated to each other, so
 * that what one of them is used for does not shift the others. */
struct stream stream_of(uint64_t seed, uint64_t which);
/* The next number in 0 .. limit - 1, all equally likely. limit is at least 1. */
uint64_t stream_below(struct stream *stream, uint64_t limit);
/* Draws `count` of `count` things with replacement: times[i] = how often thing i was drawn. */
void stream_resample(struct stream *stream, size_t count, uint32_t *times);
/* Draws `ends[cells - 1]` things with replacement from a histogram, and counts them again: a
 * multinomial draw. ends[i] is the sum of the histogram's counts 0 .. i; the last is above 0. */
void stream_recount(struct stream *stream, const uint32_t *ends, size_t cells, uint32_t *drawn);

#endif
