// SPDX-License-Identifier: Apache-2.0
// Heapsort (Williams 1964): first the largest of each heap rises to its root, then roots move to
// the end one by one. The children of node i are 2 i + 1 and 2 i + 2.
#include "base/sort.h"

static void sink_value(double *heap, size_t node, size_t count) {
	const double value = heap[node];
	for (size_t child; (child = 2 * node + 1) < count; node = child) {
		if (child + 1 < count && heap[child + 1] > heap[child]) child++;
		if (!(heap[child] > value)) break;
		heap[node] = heap[child];
	}
	heap[node] = value;
}

void sort_doubles(double *values, size_t count) {
	for (size_t node = count / 2; node-- > 0;) sink_value(values, node, count);
	for (size_t last = count; last-- > 1;) {
		const double root = values[0];
		values[0] = values[last];
		values[last] = root;
		sink_value(values, 0, last);
	}
}
