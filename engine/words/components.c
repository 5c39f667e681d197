// SPDX-License-Identifier: Apache-2.0
// components.c: cuttle_components, see cuttle/components.h: workers for engine/words/whiten.c.
#include "engine/cuttle/components.h"

#include "base/misuse.h"
#include "engine/words/whiten.h"

enum cuttle_status cuttle_components(const float *rows, size_t count, size_t width, size_t wanted,
                                     unsigned threads, float *mean, float *axes,
                                     struct cuttle_error *error) {
	struct threads *workers;
	REQUIRE(rows && count && wanted && wanted <= width && mean && axes);
	enum cuttle_status status = threads_new(threads, &workers, error);
	if (status) return status;
	status = whiten_principal(workers, rows, count, width, wanted, mean, axes, error);
	threads_free(&workers);
	return status;
}
