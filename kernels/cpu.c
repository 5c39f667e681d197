// SPDX-License-Identifier: Apache-2.0
// On x86-64, CPUID says what the CPU can do, and the register XCR0 what the operating system saves.
// On aarch64 the kernel says both, in the auxiliary vector.
#include "kernels/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

// Named here, since gcc and clang name the bits of CPUID differently, and older kernel headers lack
// the request.
enum {
	AVX_VNNI = 1 << 4,      /* CPUID leaf 7, subleaf 1, EAX */
	AMX_TILE = 1 << 24,     /* CPUID leaf 7, EDX */
	AMX_INT8 = 1 << 25,     /* CPUID leaf 7, EDX */
	REQUEST_STATE = 0x1023, /* of arch_prctl: ARCH_REQ_XCOMP_PERM */
	TILE_DATA = 18          /* its argument: the tiles' number among the register states */
};

/* XCR0: one bit for each register state that the operating system saves. */
static unsigned long long read_saved_state(void) {
	unsigned low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (unsigned long long)high << 32 | low;
}

unsigned cpu_flags(void) {
	unsigned a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
	const unsigned fma_f16c = bit_FMA | bit_F16C | bit_AVX;
	const unsigned long long state = read_saved_state();
	const unsigned long long ymm = 0x06;      // bits 1, 2: xmm, upper halves of ymm
	const unsigned long long zmm = 0xe6;      // and bits 5-7: masks, upper zmm, zmm 16-31
	const unsigned long long tiles = 0x60000; // bits 17, 18: tile configuration, tile data
	if ((c & fma_f16c) != fma_f16c || (state & ymm) != ymm) return 0;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
	unsigned flags = CPU_AVX2, more, none;
	if (__get_cpuid_count(7, 1, &more, &none, &none, &none) && (more & AVX_VNNI))
		flags |= CPU_AVXVNNI;
	const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
	if ((b & avx512) != avx512 || !(c & bit_AVX512VNNI) || (state & zmm) != zmm) return flags;
	flags |= CPU_AVX512;
	if ((c & bit_GFNI) && (d & AMX_TILE) && (d & AMX_INT8) && (state & tiles) == tiles)
		flags |= CPU_AMX;
	return flags;
}
#else
#if defined(__aarch64__)
#include <sys/auxv.h>

unsigned cpu_flags(void) {
	return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? CPU_DOTPROD : 0;
}
#else
unsigned cpu_flags(void) {
	return 0;
}
#endif
#endif

bool cpu_amx_request(void) {
#if defined(__x86_64__)
	return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
#else
	return false;
#endif
}
