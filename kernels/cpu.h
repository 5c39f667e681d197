// SPDX-License-Identifier: Apache-2.0
// What the CPU can do and the operating system saves.
#ifndef CUTTLE_KERNELS_CPU_H
#define CUTTLE_KERNELS_CPU_H

enum cpu_flags {
	CPU_AVX2 = 1,  /* AVX2, FMA, F16C */
	CPU_AVX512 = 2 /* AVX-512 F BW DQ VL VNNI, on top of the above */
};

unsigned cpu_flags(void);

#endif
