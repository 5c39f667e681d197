// SPDX-License-Identifier: Apache-2.0
// The list of tiers, and the choice of one. A new tier is a line of `tiers` and a flag of cpu.h.
#include "kernels/kernels.h"

#include "kernels/cpu.h"

#include <stdatomic.h>
#include <string.h>

/* The table of tier `name`. Its gemms of Q8_0 and Q4_x are its own, and so is int8_peak. The other
 * block types take gemm_planes of tier `planes`. The loops of ranking.h come from tier `ranking`,
 * everything else from tier `rest`. */
#define TABLE(name, planes, rest, ranking)                                                         \
	{                                                                                          \
#name, rowquant_##rest, gemm_q8_##name, gemm_q4_##name, gemm_planes_##planes,      \
		    gemm_float_##rest, attention_##rest, attention_q8_##rest, rmsnorm_##rest,      \
		    rope_##rest, narrow_##rest, narrow_q8_##rest, swiglu_##rest, geglu_##rest,     \
		    dclip_##rest, rowlaw_##rest, chisq_##rest, count_above_##ranking,              \
		    find_equal_##ranking, cosine_keys_##ranking, int8_peak_##name                  \
	}

// The worst first: "auto" takes the last that this CPU can run.
static const struct tier {
	unsigned needs; /* flags of cpu.h, all of them */
	struct kernels table;
} tiers[] = {
    {0, TABLE(scalar, scalar, scalar, scalar)},
#if defined(__aarch64__)
    {0, TABLE(neon, neon, neon, scalar)},
    {CPU_DOTPROD, TABLE(dotprod, dotprod, neon, scalar)},
#elif defined(__x86_64__)
    {CPU_AVX2, TABLE(avx2, avx2, avx2, avx2)},
    {CPU_AVX2 | CPU_AVXVNNI, TABLE(avxvnni, avxvnni, avx2, avx2)},
    {CPU_AVX512, TABLE(avx512, avx512, avx512, avx512)},
    {CPU_AVX512 | CPU_AMX, TABLE(amx, amx, avx512, avx512)},
#endif
};
enum { TIERS = sizeof tiers / sizeof *tiers };

static _Atomic(const struct kernels *) table_in_use;

/* Linux is asked for the AMX tiles last, when nothing else is missing. So no other tier asks. */
static bool can_run_tier(const struct tier *tier, unsigned flags) {
	return (tier->needs & flags) == tier->needs &&
	       (!(tier->needs & CPU_AMX) || cpu_amx_request());
}

size_t kernels_available(const struct kernels *tables[8]) {
	const unsigned flags = cpu_flags();
	size_t count = 0;
	for (size_t i = 0; i < TIERS; i++)
		if (can_run_tier(&tiers[i], flags)) tables[count++] = &tiers[i].table;
	return count;
}

bool kernels_set(const char *name) {
	const unsigned flags = cpu_flags();
	for (size_t i = TIERS; i--;)
		if ((!strcmp(name, "auto") || !strcmp(name, tiers[i].table.name)) &&
		    can_run_tier(&tiers[i], flags)) {
			atomic_store(&table_in_use, &tiers[i].table);
			return true;
		}
	return false;
}

const struct kernels *kernels_get(void) {
	if (!atomic_load_explicit(&table_in_use, memory_order_relaxed)) kernels_set("auto");
	return atomic_load_explicit(&table_in_use, memory_order_relaxed);
}
