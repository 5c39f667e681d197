// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.h"

#include "kernels/cpu.h"

#include <stdatomic.h>
#include <string.h>

#define TABLE(tier)                                                                                                                        \
	{                                                                                                                                  \
#tier, rowquant_##tier, gemm_q8_##tier, gemm_q4_##tier, gemm_float_##tier, attention_##tier, rmsnorm_##tier, rope_##tier,  \
		    swiglu_##tier, dclip_##tier                                                                                            \
	}

static const struct {
	unsigned needs;
	struct kernels table;
} tiers[] = {
    {0, TABLE(scalar)},
#if defined(__x86_64__)
    {CPU_AVX2, TABLE(avx2)},
    {CPU_AVX512, TABLE(avx512)},
#endif
};
enum { TIERS = sizeof tiers / sizeof *tiers };

static _Atomic(const struct kernels *) in_use;

size_t kernels_available(const struct kernels *tables[8]) {
	const unsigned flags = cpu_flags();
	size_t count = 0;
	for (size_t i = 0; i < TIERS; i++)
		if ((tiers[i].needs & flags) == tiers[i].needs) tables[count++] = &tiers[i].table;
	return count;
}

bool kernels_set(const char *name) {
	const struct kernels *tables[8];
	for (size_t i = kernels_available(tables); i--;)
		if (!strcmp(name, "auto") || !strcmp(name, tables[i]->name)) {
			atomic_store(&in_use, tables[i]);
			return true;
		}
	return false;
}

const struct kernels *kernels_get(void) {
	if (!atomic_load_explicit(&in_use, memory_order_relaxed)) kernels_set("auto");
	return atomic_load_explicit(&in_use, memory_order_relaxed);
}
