// SPDX-License-Identifier: Apache-2.0
// Reads the first line of /proc/stat at the start and at the end. The difference, without what this
// process took itself, is what the others took.
#include "tools/common/load.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Half a second of one processor, at 100 ticks a second: fewer ticks are too few to tell. */
enum { LEAST_TICKS = 50 };

/* Share of the processors' time that load_warn begins to warn of. */
static const double NOTICEABLE = 0.05;

/* Reads the first line of /proc/stat: ticks of all processors together. False: there is none. */
static bool read_ticks(double *busy, double *all) {
	double user, nice, system, idle, wait, interrupt, soft, stolen;
	FILE *file = fopen("/proc/stat", "re");
	if (!file) return false;
	const int count = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system,
	                         &idle, &wait, &interrupt, &soft, &stolen);
	(void)fclose(file);
	if (count != 8) return false;
	*busy = user + nice + system + interrupt + soft + stolen;
	*all = *busy + idle + wait;
	return true;
}

static double read_own_seconds(void) {
	struct timespec clock;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &clock);
	return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

void load_begin(struct load *load) {
	load->own = read_own_seconds();
	if (!read_ticks(&load->busy, &load->all)) load->all = (double)NAN;
}

double load_of_others(const struct load *load) {
	double busy, all;
	if (!read_ticks(&busy, &all) || !(all - load->all >= LEAST_TICKS)) return (double)NAN;
	const double own = (read_own_seconds() - load->own) * (double)sysconf(_SC_CLK_TCK);
	return fmin(1, fmax(0, (busy - load->busy - own) / (all - load->all)));
}

void load_warn(const char *verb, double share) {
	if (!(share >= NOTICEABLE)) return;
	fprintf(stderr,
	        "cuttle %s: warning: others took %.0f %% of this machine's processor time during "
	        "the measurement. So it is slower than it could be: measure again when the "
	        "machine is idle\n",
	        verb, share * 100);
}
