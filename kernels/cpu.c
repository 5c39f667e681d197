// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

// As gcc and clang name these bits of CPUID leaf 7 (EDX, and EAX of its subleaf 1) differently, and older kernel headers lack the request.
enum { AVX_VNNI = 1 << 4, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, REQUEST_STATE = 0x1023, TILE_DATA = 18 };

static unsigned long long saved_state(void) {
	unsigned low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (unsigned long long)high << 32 | low;
}

unsigned cpu_flags(void) {
	unsigned a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
	const unsigned fma_f16c = bit_FMA | bit_F16C | bit_AVX;
	const unsigned long long state = saved_state(), ymm = 0x06, zmm = 0xe6, tiles = 0x60000;
	if ((c & fma_f16c) != fma_f16c || (state & ymm) != ymm) return 0;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
	unsigned flags = CPU_AVX2, more, none;
	if (__get_cpuid_count(7, 1, &more, &none, &none, &none) && (more & AVX_VNNI)) flags |= CPU_AVXVNNI;
	const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
	if ((b & avx512) != avx512 || !(c & bit_AVX512VNNI) || (state & zmm) != zmm) return flags;
	flags |= CPU_AVX512;
	if ((c & bit_GFNI) && (d & AMX_TILE) && (d & AMX_INT8) && (state & tiles) == tiles) flags |= CPU_AMX;
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
