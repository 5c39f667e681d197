// SPDX-License-Identifier: Apache-2.0
// The recursion on a polygon. Every rounding is upwards or covered by ROUNDING; the windows decide how tight the answer is, never whether
// it is right.
#include "dp/exact.h"

#include "base/misuse.h"
#include "dp/account.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	LANES = 16,   /* vertices per pass of the inner loop: what gcc and clang both keep in registers */
	MARGIN = 2,   /* vertices beside what a step reads */
	ATTEMPTS = 80 /* of a search */
};

#define UNWATCHED __attribute__((no_sanitize("address", "undefined")))
#define ROUNDING 0x1p-45 /* relative; one step makes less than 2^-46 */
#define UNSEEN 1e-7      /* part of delta that losses beyond the windows may add */
#define AIM 2e-7         /* dp_exact_eta ends with ln(delta reached / delta) in [-5/4 AIM, -1/4 AIM] */
#define LEAST_ETA 1e-100
#define LEAST_DELTA 1e-300

/* Which recursion: for epsilons from low to high, following a sum of losses as far as `deviations` of its standard deviation. */
struct question {
	double eta, low, high, deviations;
	uint32_t tokens;
	unsigned grid;
};

/* Vertices of V_k at e = j h for low <= j <= high. Left of them the polygon goes to (exp(e) = 0, V = 1), right of them it is constant;
 * `extend` writes such vertices out, as far as a step reads. Element j - first of an array belongs to vertex j, or to the cell from j to
 * j + 1. */
struct recursion {
	struct question question;
	double h, ratio;        /* eta / grid, exp(h) - 1 */
	double *down, *up;      /* [grid + 1] p_t and 1 - p_t at t = i h, rounded up */
	double *vertex, *next;  /* V_k, V_{k+1} */
	double *bend, *inverse; /* D of PRIVACY.md, 1 / (4 D) */
	int64_t first, low, high;
	uint32_t done; /* k */
};

/* How far from zero a sum of n losses gets, in h: its mean is at most n eta^2 / 8, each has range eta (Hoeffding), none is beyond eta. */
static double spread(const struct question *q, double n) {
	const double far = n * q->eta / 8.0 + q->deviations / 2.0 * sqrt(n);
	return q->grid * (far < n ? far : n);
}

/* Where V_k is neither nearly 1 - exp(e) nor nearly 0, and still matters to V_T between low and high. */
static void window(const struct recursion *r, uint32_t k, int64_t *low, int64_t *high) {
	const struct question *q = &r->question;
	const double here = spread(q, k), rest = spread(q, q->tokens - k);
	*low = (int64_t)floor(fmax(-here, q->low / r->h - rest)) - 1;
	int64_t count = (int64_t)ceil(fmin(here, q->high / r->h + rest)) + 2 - *low;
	if (count < 2) count = 2;
	*high = *low + (count + LANES - 1) / LANES * LANES - 1;
}

static void end(struct recursion *r) {
	free(r->down);
	free(r->up);
	free(r->vertex);
	free(r->next);
	free(r->bend);
	free(r->inverse);
}

/* At V_0, which two cells describe exactly. */
static enum dp_status begin(struct recursion *r, const struct question *question) {
	const int64_t m = question->grid;
	*r = (struct recursion){.question = *question, .h = question->eta / (double)m, .low = -1, .high = 1};
	r->ratio = expm1(r->h);
	int64_t least = r->low, most = r->high, low, high;
	for (uint32_t k = 1; k <= question->tokens; k++) {
		window(r, k, &low, &high);
		if (low < least) least = low;
		if (high > most) most = high;
	}
	r->first = least - m - MARGIN;
	const size_t count = (size_t)(most + m + MARGIN - r->first + 1);
	r->vertex = calloc(count, sizeof *r->vertex);
	r->next = calloc(count, sizeof *r->next);
	r->bend = calloc(count, sizeof *r->bend);
	r->inverse = calloc(count, sizeof *r->inverse);
	r->down = calloc((size_t)m + 1, sizeof *r->down);
	r->up = calloc((size_t)m + 1, sizeof *r->up);
	if (!r->vertex || !r->next || !r->bend || !r->inverse || !r->down || !r->up) {
		end(r);
		return DP_NO_MEMORY;
	}
	const long double eta = (long double)question->eta, whole = -expm1l(-eta);
	for (int64_t i = 0; i <= m; i++) {
		const long double t = eta * i / m;
		r->down[i] = i == m ? 0.0 : (double)(-expm1l(t - eta) / whole * (1.0L + 0x1p-51L));
		r->up[i] = (double)(expl(-eta) * expm1l(t) / whole * (1.0L + 0x1p-51L));
	}
	r->vertex[-1 - r->first] = -expm1(-r->h) * (1.0 + ROUNDING);
	return DP_OK;
}

/* Writes out the vertices from low to high that the polygon has but its window has not. */
static void extend(struct recursion *r, int64_t low, int64_t high) {
	const double left = r->vertex[r->low - r->first], right = r->vertex[r->high - r->first];
	for (int64_t j = r->low - 1; j >= low; j--) {
		const double x = (double)(j - r->low) * r->h; /* 1 + (V - 1) exp(x), as a sum of positive terms */
		const double v = (left * exp(x) - expm1(x)) * (1.0 + ROUNDING);
		r->vertex[j - r->first] = v < 1.0 ? v : 1.0;
	}
	for (int64_t j = r->high + 1; j <= high; j++) r->vertex[j - r->first] = right;
}

/* V_{k+1} at LANES points from V_k at vertex[0 .. LANES - 1] and grid vertices on either side: the greatest over all t in [0, eta].
 * Sanitizers would spend most of a test run here; what is read has been written by `step` and `extend`, under their eyes, just before. */
UNWATCHED static void maximise(const struct recursion *r, const double *vertex, const double *bend, const double *inverse, double *next) {
	const int64_t m = r->question.grid;
	double best[LANES], last[LANES];
	for (int l = 0; l < LANES; l++) best[l] = last[l] = vertex[l];
	for (int64_t i = 1; i <= m; i++) {
		const double p = r->down[i], q = r->up[i];
		const double *lower = vertex - i, *upper = lower + m, *b = bend - i, *by = inverse - i;
		for (int l = 0; l < LANES; l++) {
			const double mixed = p * lower[l] + q * upper[l];
			double z = mixed - last[l] + b[l], most = b[l] + b[l];
			z = z > 0.0 ? z : 0.0;
			z = z < most ? z : most;
			double v = last[l] + z * by[l] * z;
			v = v > mixed ? v : mixed;
			best[l] = best[l] > v ? best[l] : v;
			last[l] = mixed;
		}
	}
	for (int l = 0; l < LANES; l++) {
		const double v = best[l] * (1.0 + ROUNDING) + DBL_MIN;
		next[l] = v < 1.0 ? v : 1.0;
	}
}

static void step(struct recursion *r) {
	const int64_t m = r->question.grid;
	const double shrink = exp(-r->question.eta), scale = r->ratio / -expm1(-r->question.eta);
	int64_t low, high;
	window(r, r->done + 1, &low, &high);
	extend(r, low - m, high + m + 1);
	for (int64_t j = low - m; j <= high; j++) {
		const double *here = r->vertex + (j - r->first), *there = here + m;
		const double falls = (here[0] - here[1]) - shrink * (there[0] - there[1]) + 0x1p-49 * here[0];
		const double bend = falls > 0.0 ? falls * scale : 0.0;
		r->bend[j - r->first] = bend;
		r->inverse[j - r->first] = bend > DBL_MIN ? 0.25 / bend : 0.0;
	}
	for (int64_t j = low; j <= high; j += LANES) {
		const int64_t at = j - r->first;
		maximise(r, r->vertex + at, r->bend + at, r->inverse + at, r->next + at);
	}
	double *const swap = r->vertex;
	r->vertex = r->next;
	r->next = swap;
	r->low = low;
	r->high = high;
	r->done++;
}

/* The polygon at an epsilon inside the window, rounded up. */
static double read_delta(const struct recursion *r, double epsilon) {
	const double cell = floor(epsilon / r->h);
	REQUIRE(cell >= (double)r->low);
	if (cell >= (double)r->high) return r->vertex[r->high - r->first];
	const double left = r->vertex[(int64_t)cell - r->first], right = r->vertex[(int64_t)cell + 1 - r->first];
	/* How much of the cell lies behind, in exp(e). Less is more delta. */
	const double behind = expm1(epsilon - cell * r->h) / r->ratio - 0x1p-50 * (2.0 + cell);
	const double delta = (left - (left - right) * (behind > 0.0 ? behind : 0.0)) * (1.0 + ROUNDING);
	return delta < 1.0 ? delta : 1.0;
}

/* The least epsilon at which the polygon is within delta, rounded up: -1 where it is at `low` already, +infinity where it nowhere is. */
static double read_epsilon(const struct recursion *r, double delta) {
	const int64_t least = (int64_t)floor(r->question.low / r->h);
	const double *vertex = r->vertex - r->first;
	int64_t j = r->high;
	while (j >= least && vertex[j] <= delta) j--;
	if (j == r->high) return (double)INFINITY;
	if (j < least) return -1.0;
	const double doubt = 0x1p-50 * vertex[j], falls = vertex[j] - vertex[j + 1] - doubt;
	const double part = falls > 0.0 ? (vertex[j] - delta + doubt) / falls : 1.0;
	return ((double)j * r->h + log1p((part < 1.0 ? part : 1.0) * r->ratio)) * (1.0 + ROUNDING);
}

static enum dp_status finish(struct recursion *r, const struct question *question) {
	const enum dp_status status = begin(r, question);
	while (status == DP_OK && r->done < question->tokens) step(r);
	return status;
}

/* ---- questions ----------------------------------------------------------------------------------------------------------------------- */

unsigned dp_exact_grid(uint32_t tokens) {
	return tokens <= 512 ? 128 : tokens <= 1024 ? 64 : tokens <= 4096 ? 32 : tokens <= 8192 ? 16 : 8;
}

static bool good_grid(unsigned grid) {
	return grid == 0 || (grid >= DP_EXACT_LEAST_GRID && grid <= DP_EXACT_MOST_GRID);
}

/* Sets the grid. */
static bool within_limits(unsigned *grid, uint32_t tokens) {
	if (tokens < 1 || tokens > DP_EXACT_TOKENS || !good_grid(*grid)) return false;
	if (*grid == 0) *grid = dp_exact_grid(tokens);
	return true;
}

static double largest_eta(uint32_t tokens) {
	return sqrt(8.0 * DP_EXACT_RHO / tokens);
}

static bool good_eta(double eta, uint32_t tokens) {
	return eta >= LEAST_ETA && eta <= largest_eta(tokens) * (1.0 + 1e-9);
}

static bool good_epsilon(double epsilon) {
	return isnormal(epsilon) && epsilon > 0.0;
}

static bool good_delta(double delta) {
	return delta >= LEAST_DELTA && delta < 1.0;
}

static double rho_of(double eta, uint32_t tokens) {
	return tokens * eta * eta / 8.0;
}

static double deviations(double delta) {
	return sqrt(-2.0 * (log(delta) + log(UNSEEN)));
}

/* dp_exact_delta; `scale`, a delta of nearly the right size, decides nothing but the windows. */
static enum dp_status delta_at(double eta, uint32_t tokens, double epsilon, double scale, unsigned grid, double *delta) {
	const struct question question = {eta, epsilon, epsilon, deviations(scale), tokens, grid};
	struct recursion r;
	*delta = DBL_MIN;
	if (epsilon >= tokens * eta * (1.0 + ROUNDING)) return DP_OK; /* no loss is as large */
	const enum dp_status status = finish(&r, &question);
	if (status != DP_OK) return status;
	*delta = fmax(read_delta(&r, epsilon), DBL_MIN);
	end(&r);
	return DP_OK;
}

enum dp_status dp_exact_delta(double eta, uint32_t tokens, double epsilon, unsigned grid, double *delta) {
	REQUIRE(delta);
	if (!within_limits(&grid, tokens) || !good_eta(eta, tokens) || !good_epsilon(epsilon)) return DP_BAD_PARAMETER;
	double answer;
	const enum dp_status status = delta_at(eta, tokens, epsilon, dp_delta_of_rho(rho_of(eta, tokens), epsilon), grid, &answer);
	if (status == DP_OK) *delta = answer;
	return status;
}

enum dp_status dp_exact_epsilon(double eta, uint32_t tokens, double delta, unsigned grid, double *epsilon) {
	REQUIRE(epsilon);
	if (!within_limits(&grid, tokens) || !good_eta(eta, tokens) || !good_delta(delta)) return DP_BAD_PARAMETER;
	/* Both are bounds themselves. */
	const double high = fmin(dp_epsilon_of_rho(rho_of(eta, tokens) * (1.0 + ROUNDING), delta), tokens * eta * (1.0 + ROUNDING));
	/* The answer is nearly always between 0.92 and 0.95 of that; where it is less, at large delta, all of it is looked at. */
	struct question question = {eta, 0.85 * high, high, deviations(delta), tokens, grid};
	double answer = -1.0;
	for (int attempt = 0; attempt < 2 && answer < 0.0; attempt++) {
		struct recursion r;
		const enum dp_status status = finish(&r, &question);
		if (status != DP_OK) return status;
		answer = read_epsilon(&r, delta);
		end(&r);
		question.low = 0.0;
	}
	*epsilon = fmax(fmin(answer, high), DBL_MIN);
	return DP_OK;
}

/* A search for the eta whose delta at epsilon is `delta`, over x = ln eta, by secants kept inside a bracket. */
struct search {
	double epsilon, delta, x, slope, low, high; /* low: within delta, high: beyond it */
	uint32_t tokens;
};

/* Until low, whose delta has been computed and is within, is as near to the root as AIM says. It is -infinity where there was none. */
static enum dp_status seek(struct search *s, unsigned grid) {
	const double greatest = log(largest_eta(s->tokens));
	double before = (double)NAN, missed_before = (double)NAN;
	s->low = -(double)INFINITY;
	s->high = (double)INFINITY;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		double delta;
		const enum dp_status status = delta_at(exp(s->x), s->tokens, s->epsilon, s->delta, grid, &delta);
		if (status != DP_OK) return status;
		const double missed = log(delta / s->delta) + AIM / 4.0;
		if (missed <= 0.0) s->low = s->x;
		else s->high = s->x;
		if (missed <= 0.0 && (missed >= -AIM || s->x >= greatest)) break;
		const double slope = (missed - missed_before) / (s->x - before);
		if (slope > 0.0 && slope < (double)INFINITY) s->slope = slope;
		/* Near epsilon = tokens eta delta falls off a cliff, where secants creep. */
		const bool bracket = !isinf(s->low) && !isinf(s->high), creeping = bracket && fabs(missed) > fabs(missed_before) / 2.0;
		const double x = s->x - (missed + AIM / 2.0) / s->slope;
		before = s->x;
		missed_before = missed;
		if (x > s->low && x < s->high && !creeping) s->x = fmax(fmin(x, s->x + 0.5), s->x - 0.5);
		else if (bracket) s->x = (s->low + s->high) / 2.0;
		else s->x += isinf(s->high) ? 0.1 : -0.1;
		s->x = fmin(s->x, greatest);
	}
	return DP_OK;
}

enum dp_status dp_exact_eta(double epsilon, double delta, uint32_t tokens, unsigned grid, double *eta) {
	REQUIRE(eta);
	if (!within_limits(&grid, tokens) || !good_epsilon(epsilon) || !good_delta(delta)) return DP_BAD_PARAMETER;
	const double start = sqrt(8.0 * dp_rho_of_epsilon(epsilon, delta) / tokens);
	if (!good_eta(start, tokens)) return DP_BAD_PARAMETER;
	/* Coarse first: up to 64 times cheaper, with nearly the same slope, and too low by a part of about 0.44 / grid^2. */
	const unsigned coarse = grid / 8 < DP_EXACT_LEAST_GRID ? DP_EXACT_LEAST_GRID : grid / 8;
	const double greatest = log(largest_eta(tokens));
	struct search s = {.epsilon = epsilon, .delta = delta, .x = fmin(log(1.06 * start), greatest), .slope = 30.0, .tokens = tokens};
	enum dp_status status = seek(&s, coarse);
	s.x = fmin(s.x + 0.44 / coarse / coarse - 0.44 / grid / grid, greatest);
	if (status == DP_OK) status = seek(&s, grid);
	if (status != DP_OK) return status;
	/* At the limit itself the largest eta may be beyond it. */
	if (isinf(s.low) || s.low >= greatest) return DP_BAD_PARAMETER;
	*eta = exp(s.low);
	return DP_OK;
}

enum dp_status dp_exact_tokens(double eta, double epsilon, double delta, unsigned grid, uint32_t *tokens) {
	REQUIRE(tokens);
	if (!good_eta(eta, 1) || !good_epsilon(epsilon) || !good_delta(delta) || !good_grid(grid)) return DP_BAD_PARAMETER;
	const double limit = fmin(DP_EXACT_TOKENS, floor(8.0 * DP_EXACT_RHO / eta / eta));
	if (limit < 1.0 || epsilon >= limit * eta) return DP_BAD_PARAMETER;
	double most = ceil(1.2 * 8.0 * dp_rho_of_epsilon(epsilon, delta) / eta / eta) + 8.0;
	for (;; most *= 4.0) {
		most = fmin(most, limit);
		const uint32_t steps = (uint32_t)most;
		const unsigned points = grid ? grid : dp_exact_grid((uint32_t)(most / 1.2));
		const struct question question = {eta, epsilon, epsilon, deviations(delta), steps, points};
		struct recursion r;
		const enum dp_status status = begin(&r, &question);
		if (status != DP_OK) return status;
		bool within = true;
		while (within && r.done < steps) {
			step(&r);
			within = read_delta(&r, epsilon) <= delta * (1.0 - AIM / 4.0);
		}
		const uint32_t done = r.done;
		end(&r);
		if (!within) {
			*tokens = done - 1;
			return DP_OK;
		}
		if (most >= limit) return DP_BAD_PARAMETER;
	}
}
