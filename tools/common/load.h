// SPDX-License-Identifier: Apache-2.0
// Measures how much processor time other processes take during a measurement, which is slower by
// that. No private data passes through. For example:
//   load_begin(&load); ... measure ...; load_warn(verb->name, load_of_others(&load));
#ifndef CUTTLE_TOOLS_COMMON_LOAD_H
#define CUTTLE_TOOLS_COMMON_LOAD_H

/* The clocks at load_begin. Ticks are the system's, usually 100 a second for each processor. */
struct load {
	double busy; /* ticks in which any process ran, since the machine was started */
	double all;  /* ticks in all, since then; NaN = the system does not say */
	double own;  /* seconds of processor time that this process took */
};

void load_begin(struct load *load);
/* The share of the processors' time since load_begin that other processes took, 0 to 1. NaN: the
 * system does not say, or too few ticks have passed to tell. */
double load_of_others(const struct load *load);
/* Warns on standard error, in the verb's name, when the share is large enough to spoil the
 * measurement. NaN warns of nothing. */
void load_warn(const char *verb, double share);

#endif
