// SPDX-License-Identifier: Apache-2.0
// cpu.h: says which instruction sets may be used.
// An instruction set counts only if the CPU has it and the operating system saves its registers.
#ifndef CUTTLE_KERNELS_CPU_H
#define CUTTLE_KERNELS_CPU_H

#include <stdbool.h>

enum cpu_flags {
	CPU_DOTPROD = 16, /* aarch64: sdot; ASIMD is part of the base */
	CPU_AVX2 = 1,     /* AVX2, FMA, F16C */
	CPU_AVXVNNI = 8,  /* AVX-VNNI, on top of AVX2 */
	CPU_AVX512 = 2,   /* AVX-512 F BW DQ VL VNNI, on top of the above */
	CPU_AMX = 4       /* AMX-TILE, AMX-INT8, GFNI, on top of the above; cpu_amx_request first */
};

/* The flags of this CPU, or-ed. */
unsigned cpu_flags(void);

/* Asks Linux to let this process use AMX tiles. Linux grants them to all threads of the process,
 * for good. Ask only to use them: from then on signal stacks must be larger. May be asked again.
 * False when refused or not on x86-64. Source: Linux, Documentation/arch/x86/xstate.rst. */
bool cpu_amx_request(void);

#endif
