// SPDX-License-Identifier: Apache-2.0
// The numbers of odds.h.
#include "workflow/report/odds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers from here on are shown by their power of ten. */
static const double MANY = 1e9;

/* Rounds up to so many digits behind the point. What is a rounding error above stays. */
static double raise_digits(double value, int digits) {
	const double scale = pow(10, digits);
	return ceil(value * scale * (1 - 1e-12)) / scale;
}

/* A whole number below 1e9 with commas: 22,027. */
static void print_whole(double value, char text[ODDS_TEXT]) {
	const unsigned whole = (unsigned)value, millions = whole / 1000000;
	if (millions)
		(void)snprintf(text, ODDS_TEXT, "%u,%03u,%03u", millions, whole / 1000 % 1000,
		               whole % 1000);
	else if (whole >= 1000)
		(void)snprintf(text, ODDS_TEXT, "%u,%03u", whole / 1000, whole % 1000);
	else (void)snprintf(text, ODDS_TEXT, "%u", whole);
}

const char *odds_factor(double epsilon, char text[ODDS_TEXT]) {
	const double factor = exp(epsilon);
	if (!isfinite(epsilon)) return "any number";
	if (epsilon > log(MANY) - 1)
		(void)snprintf(text, ODDS_TEXT, "10^%.0f", ceil(epsilon / log(10)));
	else if (factor < 10) (void)snprintf(text, ODDS_TEXT, "%.2f", raise_digits(factor, 2));
	else if (factor < 100) (void)snprintf(text, ODDS_TEXT, "%.1f", raise_digits(factor, 1));
	else print_whole(ceil(factor), text);
	return text;
}

double odds_after(double epsilon, double chance) {
	return isfinite(epsilon) ? 1 / (1 + (1 - chance) / chance * exp(-epsilon)) : 1;
}

const char *odds_after_words(double epsilon, double chance, char text[ODDS_TEXT]) {
	const double percent = 100 * odds_after(epsilon, chance);
	if (percent < 99) (void)snprintf(text, ODDS_TEXT, "%.1f %%", raise_digits(percent, 1));
	else if (percent < 99.999)
		(void)snprintf(text, ODDS_TEXT, "%.3f %%", raise_digits(percent, 3));
	else (void)snprintf(text, ODDS_TEXT, "100 %%");
	return text;
}
