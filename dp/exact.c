// SPDX-License-Identifier: Apache-2.0
// exact.c: the recursion of exact.h, on polygons. dp/PRIVACY.md, steps 10 and 11, proves it.
//
// V_k is held at its vertices, the points e = j h with h = eta / grid, for j inside a window. One
// step computes the vertices of V_{k+1} from those of V_k: take_step, maximise_over_t. V_T is then
// read at an epsilon, or for a delta. dp_exact_eta repeats all this for one eta after another.
// Every rounding is upwards, or covered by ROUNDING. The windows decide how tight the answer is,
// never whether it is right.
#include "dp/exact.h"

#include "base/misuse.h"
#include "dp/zcdp.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	LANES = 16,   /* vertices per pass of the inner loop: gcc and clang keep 16 in registers */
	MARGIN = 2,   /* spare vertices of an array, at each end beyond what a step reads */
	ATTEMPTS = 80 /* of seek_eta */
};

#define UNWATCHED __attribute__((no_sanitize("address", "undefined")))
#define ROUNDING 0x1p-45 /* relative margin of one step; its rounding errors are below 2^-46 */
#define UNSEEN 1e-7      /* the part of delta that losses beyond the windows may add */
#define AIM 2e-7 /* dp_exact_eta ends with ln(delta reached / delta) in [-5/4 AIM, -1/4 AIM] */
#define LEAST_ETA 1e-100
#define LEAST_DELTA 1e-300

/* What one recursion is computed for. */
struct question {
	double eta;
	double low;        /* the least epsilon that will be read */
	double high;       /* the largest epsilon that will be read */
	double deviations; /* how far a window follows a sum of losses, in standard deviations */
	uint32_t tokens;   /* T, steps */
	unsigned grid;     /* m, cells per eta */
};

/* The polygon of V_k has vertices at e = j h for low <= j <= high. A cell is the part from vertex j
 * to vertex j + 1. Example: eta 0.4 and grid 8 make h = 0.05; vertex 3 is at e = 0.15.
 * Left of the window, below j = low, the polygon is straight to the point exp(e) = 0, V = 1. Right
 * of the window it is constant. extend_polygon writes such vertices out, as far as a step reads.
 * In vertex, next, bend and inverse, element j - first belongs to vertex j, or to its cell. */
struct recursion {
	struct question question;
	double h;        /* eta / grid */
	double ratio;    /* exp(h) - 1 */
	double *down;    /* [grid + 1] p_t at t = i h, rounded up */
	double *up;      /* [grid + 1] 1 - p_t at t = i h, rounded up */
	double *vertex;  /* V_k */
	double *next;    /* V_{k+1} */
	double *bend;    /* D of PRIVACY.md */
	double *inverse; /* 1 / (4 D) */
	int64_t first;   /* the j of element 0 */
	int64_t low;     /* the window's first vertex */
	int64_t high;    /* the window's last vertex */
	uint32_t done;   /* k */
};

/* How far from zero a sum of n losses gets, in units of h. Its mean is at most n eta^2 / 8. Each
 * loss has range eta, so by Hoeffding's bound it counts as a standard deviation of eta / 2. No loss
 * is beyond eta, so the sum is not beyond n eta. `far` counts in units of eta. */
static double reach_of_sum(const struct question *q, double n) {
	const double far = n * q->eta / 8.0 + q->deviations / 2.0 * sqrt(n);
	return q->grid * (far < n ? far : n);
}

/* Places the window of V_k: the e where V_k is neither nearly 1 - exp(e) nor nearly 0, and that V_T
 * between the question's low and high still depends on. The number of vertices becomes a multiple
 * of LANES. */
static void place_window(const struct recursion *r, uint32_t k, int64_t *low, int64_t *high) {
	const struct question *q = &r->question;
	const double here = reach_of_sum(q, k), rest = reach_of_sum(q, q->tokens - k);
	*low = (int64_t)floor(fmax(-here, q->low / r->h - rest)) - 1;
	int64_t count = (int64_t)ceil(fmin(here, q->high / r->h + rest)) + 2 - *low;
	if (count < 2) count = 2;
	*high = *low + (count + LANES - 1) / LANES * LANES - 1;
}

static void free_recursion(struct recursion *r) {
	free(r->down);
	free(r->up);
	free(r->vertex);
	free(r->next);
	free(r->bend);
	free(r->inverse);
}

/* Starts at V_0. Two cells describe it exactly: with vertices at -h, 0 and h, it is straight in
 * exp(e) up to e = 0, and 0 from there on. The arrays are made for the widest of all windows. */
static enum dp_status begin_recursion(struct recursion *r, const struct question *question) {
	const int64_t m = question->grid;
	*r = (struct recursion){
	    .question = *question, .h = question->eta / (double)m, .low = -1, .high = 1};
	r->ratio = expm1(r->h);
	int64_t least = r->low, most = r->high, low, high;
	for (uint32_t k = 1; k <= question->tokens; k++) {
		place_window(r, k, &low, &high);
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
		free_recursion(r);
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

/* Writes out the vertices from low to high that lie outside the window. */
static void extend_polygon(struct recursion *r, int64_t low, int64_t high) {
	const double left = r->vertex[r->low - r->first], right = r->vertex[r->high - r->first];
	for (int64_t j = r->low - 1; j >= low; j--) {
		const double x = (double)(j - r->low) * r->h;
		/* This is 1 + (V - 1) exp(x), as a sum of positive terms: rounding errors stay
		 * relative. */
		const double v = (left * exp(x) - expm1(x)) * (1.0 + ROUNDING);
		r->vertex[j - r->first] = v < 1.0 ? v : 1.0;
	}
	for (int64_t j = r->high + 1; j <= high; j++) r->vertex[j - r->first] = right;
}

/* Computes V_{k+1} at LANES vertices: the greatest value over all t in [0, eta]. It reads V_k at
 * vertex[0 .. LANES - 1] and at `grid` vertices on either side. For each vertex and each i from 1
 * to grid it covers the t from (i - 1) h to i h: `last` and `mixed` are the objective at the two
 * ends, and the quadratic bounds it in between (PRIVACY.md, step 11). Sanitizers would spend most
 * of a test run here, so they are off. take_step and extend_polygon, where they are on, have just
 * written all that is read here. */
UNWATCHED static void maximise_over_t(const struct recursion *r, const double *vertex,
                                      const double *bend, const double *inverse, double *next) {
	const int64_t m = r->question.grid;
	double best[LANES], last[LANES];
	for (int l = 0; l < LANES; l++) best[l] = last[l] = vertex[l];
	for (int64_t i = 1; i <= m; i++) {
		const double p = r->down[i], q = r->up[i];
		const double *lower = vertex - i, *upper = lower + m, *b = bend - i,
		             *by = inverse - i;
		for (int l = 0; l < LANES; l++) {
			const double mixed = p * lower[l] + q * upper[l];
			/* Delta + D of PRIVACY.md, to be clamped to [0, 2 D] */
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

static void take_step(struct recursion *r) {
	const int64_t m = r->question.grid;
	const double shrink = exp(-r->question.eta), scale = r->ratio / -expm1(-r->question.eta);
	int64_t low, high;
	place_window(r, r->done + 1, &low, &high);
	extend_polygon(r, low - m, high + m + 1);
	/* The 2^-49 V_j makes up for the rounding errors of D. Where D is below DBL_MIN, 1 / (4 D)
	 * would overflow and 0 stands for it. That leaves out at most D, and every new vertex gets
	 * DBL_MIN on top. */
	for (int64_t j = low - m; j <= high; j++) {
		const double *here = r->vertex + (j - r->first), *there = here + m;
		const double falls =
		    (here[0] - here[1]) - shrink * (there[0] - there[1]) + 0x1p-49 * here[0];
		const double bend = falls > 0.0 ? falls * scale : 0.0;
		r->bend[j - r->first] = bend;
		r->inverse[j - r->first] = bend > DBL_MIN ? 0.25 / bend : 0.0;
	}
	for (int64_t j = low; j <= high; j += LANES) {
		const int64_t at = j - r->first;
		maximise_over_t(r, r->vertex + at, r->bend + at, r->inverse + at, r->next + at);
	}
	double *const swap = r->vertex;
	r->vertex = r->next;
	r->next = swap;
	r->low = low;
	r->high = high;
	r->done++;
}

/* The polygon's delta at an epsilon that is not left of the window, rounded up. */
static double read_delta(const struct recursion *r, double epsilon) {
	const double cell = floor(epsilon / r->h);
	REQUIRE(cell >= (double)r->low);
	if (cell >= (double)r->high) return r->vertex[r->high - r->first];
	const double left = r->vertex[(int64_t)cell - r->first],
	             right = r->vertex[(int64_t)cell + 1 - r->first];
	/* The part of the cell left of epsilon, measured in exp(e). It is rounded down, since a
	 * smaller part gives a larger delta. */
	const double behind = expm1(epsilon - cell * r->h) / r->ratio - 0x1p-50 * (2.0 + cell);
	const double delta =
	    (left - (left - right) * (behind > 0.0 ? behind : 0.0)) * (1.0 + ROUNDING);
	return delta < 1.0 ? delta : 1.0;
}

/* The least epsilon at which the polygon is within delta, rounded up. It is -1 where the polygon is
 * within delta at the question's low already, and +infinity where it is nowhere. */
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

static enum dp_status run_recursion(struct recursion *r, const struct question *question) {
	const enum dp_status status = begin_recursion(r, question);
	while (status == DP_OK && r->done < question->tokens) take_step(r);
	return status;
}

/* ---- questions ------------------------------------------------------------------------------- */

unsigned dp_exact_grid(uint32_t tokens) {
	return tokens <= 512    ? 128
	       : tokens <= 1024 ? 64
	       : tokens <= 4096 ? 32
	       : tokens <= 8192 ? 16
	                        : 8;
}

static bool good_grid(unsigned grid) {
	return grid == 0 || (grid >= DP_EXACT_LEAST_GRID && grid <= DP_EXACT_MOST_GRID);
}

/* False where tokens or grid are beyond the limits. Sets the grid where it is 0. */
static bool settle_grid(unsigned *grid, uint32_t tokens) {
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

static double rho_of_eta(double eta, uint32_t tokens) {
	return tokens * eta * eta / 8.0;
}

/* By Hoeffding's bound a sum is beyond d standard deviations with a probability of at most
 * exp(-d^2 / 2). This is the d that makes it delta UNSEEN. */
static double deviations_of_delta(double delta) {
	return sqrt(-2.0 * (log(delta) + log(UNSEEN)));
}

/* dp_exact_delta without its checks. `scale` is a delta of nearly the right size. It decides the
 * windows and nothing else. */
static enum dp_status compute_delta(double eta, uint32_t tokens, double epsilon, double scale,
                                    unsigned grid, double *delta) {
	const struct question question = {eta,    epsilon, epsilon, deviations_of_delta(scale),
	                                  tokens, grid};
	struct recursion r;
	*delta = DBL_MIN;
	if (epsilon >= tokens * eta * (1.0 + ROUNDING)) return DP_OK; /* no loss is so large */
	const enum dp_status status = run_recursion(&r, &question);
	if (status != DP_OK) return status;
	*delta = fmax(read_delta(&r, epsilon), DBL_MIN);
	free_recursion(&r);
	return DP_OK;
}

enum dp_status dp_exact_delta(double eta, uint32_t tokens, double epsilon, unsigned grid,
                              double *delta) {
	REQUIRE(delta);
	if (!settle_grid(&grid, tokens) || !good_eta(eta, tokens) || !good_epsilon(epsilon))
		return DP_BAD_PARAMETER;
	double answer;
	const enum dp_status status = compute_delta(
	    eta, tokens, epsilon, dp_delta_of_rho(rho_of_eta(eta, tokens), epsilon), grid, &answer);
	if (status == DP_OK) *delta = answer;
	return status;
}

enum dp_status dp_exact_epsilon(double eta, uint32_t tokens, double delta, unsigned grid,
                                double *epsilon) {
	REQUIRE(epsilon);
	if (!settle_grid(&grid, tokens) || !good_eta(eta, tokens) || !good_delta(delta))
		return DP_BAD_PARAMETER;
	/* epsilon by zCDP, and the largest possible loss. Both are bounds of the answer. */
	const double high =
	    fmin(dp_epsilon_of_rho(rho_of_eta(eta, tokens) * (1.0 + ROUNDING), delta),
	         tokens * eta * (1.0 + ROUNDING));
	/* The answer is nearly always 0.92 to 0.95 of `high`, so look from 0.85 on. At large delta
	 * it may be less: then the second attempt looks from 0 on. */
	struct question question = {eta,    0.85 * high, high, deviations_of_delta(delta),
	                            tokens, grid};
	double answer = -1.0;
	for (int attempt = 0; attempt < 2 && answer < 0.0; attempt++) {
		struct recursion r;
		const enum dp_status status = run_recursion(&r, &question);
		if (status != DP_OK) return status;
		answer = read_epsilon(&r, delta);
		free_recursion(&r);
		question.low = 0.0;
	}
	*epsilon = fmax(fmin(answer, high), DBL_MIN);
	return DP_OK;
}

struct dp_exact_profile {
	struct recursion recursion; /* done: the polygon of V_T */
	double most;                /* no loss is larger, so delta is 0 from here on */
};

enum dp_status dp_exact_profile_new(double eta, uint32_t tokens, double low, double high,
                                    unsigned grid, struct dp_exact_profile **profile) {
	*profile = NULL;
	if (!settle_grid(&grid, tokens) || !good_eta(eta, tokens) || !good_epsilon(low) ||
	    !good_epsilon(high) || low > high)
		return DP_BAD_PARAMETER;
	struct dp_exact_profile *made = calloc(1, sizeof *made);
	if (!made) return DP_NO_MEMORY;
	made->most = tokens * eta * (1.0 + ROUNDING);
	high = fmin(high, made->most);
	const double least = dp_delta_of_rho(rho_of_eta(eta, tokens), high);
	const struct question question = {
	    eta, fmin(low, high), high, deviations_of_delta(least), tokens, grid};
	const enum dp_status status = run_recursion(&made->recursion, &question);
	if (status == DP_OK) *profile = made;
	else free(made);
	return status;
}

double dp_exact_profile_delta(const struct dp_exact_profile *profile, double epsilon) {
	REQUIRE(epsilon >= profile->recursion.question.low);
	if (epsilon >= profile->most) return DBL_MIN;
	return fmax(read_delta(&profile->recursion, epsilon), DBL_MIN);
}

void dp_exact_profile_free(struct dp_exact_profile **profile) {
	if (*profile) free_recursion(&(*profile)->recursion);
	free(*profile);
	*profile = NULL;
}

/* A search for the eta whose delta at epsilon is `delta`. It goes over x = ln eta, by the secant
 * method inside a bracket. */
struct eta_search {
	double epsilon;
	double delta;
	double x;     /* the next ln eta to try */
	double slope; /* of ln delta over ln eta, as last measured */
	double low;   /* the last x tried whose delta is within `delta`; -infinity: none */
	double high;  /* the last x tried whose delta is beyond `delta`; +infinity: none */
	uint32_t tokens;
};

/* Searches until `low` is as near to the root as AIM says. The delta of `low` has been computed and
 * is within. `low` stays -infinity where no x tried was within. */
static enum dp_status seek_eta(struct eta_search *s, unsigned grid) {
	const double greatest = log(largest_eta(s->tokens));
	double before = (double)NAN, missed_before = (double)NAN;
	s->low = -(double)INFINITY;
	s->high = (double)INFINITY;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		double delta;
		const enum dp_status status =
		    compute_delta(exp(s->x), s->tokens, s->epsilon, s->delta, grid, &delta);
		if (status != DP_OK) return status;
		const double missed = log(delta / s->delta) + AIM / 4.0;
		if (missed <= 0.0) s->low = s->x;
		else s->high = s->x;
		if (missed <= 0.0 && (missed >= -AIM || s->x >= greatest)) break;
		const double slope = (missed - missed_before) / (s->x - before);
		if (slope > 0.0 && slope < (double)INFINITY) s->slope = slope;
		/* Where epsilon is near tokens eta, the largest possible loss, delta drops so
		 * steeply that secants make small steps only. If the last one did not halve the
		 * distance, halve the bracket instead. */
		const bool bracket = !isinf(s->low) && !isinf(s->high),
		           creeping = bracket && fabs(missed) > fabs(missed_before) / 2.0;
		const double x = s->x - (missed + AIM / 2.0) / s->slope;
		before = s->x;
		missed_before = missed;
		if (x > s->low && x < s->high && !creeping)
			s->x = fmax(fmin(x, s->x + 0.5), s->x - 0.5);
		else if (bracket) s->x = (s->low + s->high) / 2.0;
		else s->x += isinf(s->high) ? 0.1 : -0.1;
		s->x = fmin(s->x, greatest);
	}
	return DP_OK;
}

enum dp_status dp_exact_eta(double epsilon, double delta, uint32_t tokens, unsigned grid,
                            double *eta) {
	REQUIRE(eta);
	if (!settle_grid(&grid, tokens) || !good_epsilon(epsilon) || !good_delta(delta))
		return DP_BAD_PARAMETER;
	const double start = sqrt(8.0 * dp_rho_of_epsilon(epsilon, delta) / tokens);
	if (!good_eta(start, tokens)) return DP_BAD_PARAMETER;
	/* Search on a coarse grid first: it is up to 64 times cheaper and has nearly the same
	 * slope. Its eta is too low by a part of about 0.44 / grid^2: 0.0069 at grid 8. */
	const unsigned coarse = grid / 8 < DP_EXACT_LEAST_GRID ? DP_EXACT_LEAST_GRID : grid / 8;
	const double greatest = log(largest_eta(tokens));
	struct eta_search s = {.epsilon = epsilon,
	                       .delta = delta,
	                       .x = fmin(log(1.06 * start), greatest),
	                       .slope = 30.0,
	                       .tokens = tokens};
	enum dp_status status = seek_eta(&s, coarse);
	s.x = fmin(s.x + 0.44 / coarse / coarse - 0.44 / grid / grid, greatest);
	if (status == DP_OK) status = seek_eta(&s, grid);
	if (status != DP_OK) return status;
	/* Where the search ends at the limit, the largest eta may lie beyond it. */
	if (isinf(s.low) || s.low >= greatest) return DP_BAD_PARAMETER;
	*eta = exp(s.low);
	return DP_OK;
}

enum dp_status dp_exact_tokens(double eta, double epsilon, double delta, unsigned grid,
                               uint32_t *tokens) {
	REQUIRE(tokens);
	if (!good_eta(eta, 1) || !good_epsilon(epsilon) || !good_delta(delta) || !good_grid(grid))
		return DP_BAD_PARAMETER;
	const double limit = fmin(DP_EXACT_TOKENS, floor(8.0 * DP_EXACT_RHO / eta / eta));
	if (limit < 1.0 || epsilon >= limit * eta) return DP_BAD_PARAMETER;
	double most = ceil(1.2 * 8.0 * dp_rho_of_epsilon(epsilon, delta) / eta / eta) + 8.0;
	for (;; most *= 4.0) {
		most = fmin(most, limit);
		const uint32_t steps = (uint32_t)most;
		const unsigned points = grid ? grid : dp_exact_grid((uint32_t)(most / 1.2));
		const struct question question = {
		    eta, epsilon, epsilon, deviations_of_delta(delta), steps, points};
		struct recursion r;
		const enum dp_status status = begin_recursion(&r, &question);
		if (status != DP_OK) return status;
		bool within = true;
		while (within && r.done < steps) {
			take_step(&r);
			within = read_delta(&r, epsilon) <= delta * (1.0 - AIM / 4.0);
		}
		const uint32_t done = r.done;
		free_recursion(&r);
		if (!within) {
			*tokens = done - 1;
			return DP_OK;
		}
		if (most >= limit) return DP_BAD_PARAMETER;
	}
}
