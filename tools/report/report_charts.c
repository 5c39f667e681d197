// SPDX-License-Identifier: Apache-2.0
// What each chart of report_charts.h draws.
#include "tools/report/report_charts.h"

#include "tools/report/report_svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE = 200 };

static const json_t *get_row(const struct report_evaluation *e, size_t row) {
	return json_array_get(json_object_get(e->document, "rows"), row);
}

static bool is_kind(const json_t *row, const char *kind) {
	return !strcmp(json_string_value(json_object_get(row, "kind")), kind);
}

const char *chart_colour(const struct report_evaluation *e, size_t row) {
	static const char *const colours[CHART_COLOURS] = {"run0", "run1", "run2",
	                                                   "run3", "run4", "run5"};
	size_t runs = 0;
	if (is_kind(get_row(e, row), "real against real") ||
	    is_kind(get_row(e, row), "references, with noise"))
		return "real";
	if (is_kind(get_row(e, row), "public prompt alone")) return "alone";
	for (size_t i = 0; i < row; i++) runs += is_kind(get_row(e, i), "run");
	return colours[runs % CHART_COLOURS];
}

/* ---- MAUVE over epsilon ---------------------------------------------------------------------- */

/* The receipt of a row's file. */
static const struct report_receipt *find_receipt(const struct report *report, const json_t *row) {
	const size_t found =
	    report_receipt_of(report, json_string_value(json_object_get(row, "sha256")));
	return found == REPORT_NONE ? NULL : &report->receipts[found];
}

/* An anchor is a line across. */
static void draw_anchor(const struct svg *svg, const char *class, double value, const char *words) {
	const struct svg_axis *x = &svg->frame->x;
	const struct svg_point ends[] = {{x->from, value}, {x->to, value}};
	svg_line(svg, class, ends, 2);
	svg_words(svg, class, "start", x->from, value, words);
}

bool chart_mauve(FILE *file, const struct report *report, const struct report_evaluation *e) {
	const json_t *rows = json_object_get(e->document, "rows");
	double least = INFINITY, most = 0, bottom = 1, value, error;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const struct report_receipt *receipt = find_receipt(report, get_row(e, i));
		if (report_cell(get_row(e, i), EVALUATION_FINE, &value, &error))
			bottom = fmin(bottom, value - (isnan(error) ? 0 : error));
		if (!receipt || !(receipt->epsilon > 0) || isinf(receipt->epsilon)) continue;
		least = fmin(least, receipt->epsilon);
		most = fmax(most, receipt->epsilon);
	}
	if (most <= 0) return false;
	const struct svg_frame frame = {
	    .width = 520,
	    .height = 260,
	    .x = {least / 2, most * 2, .log = true, .label = "epsilon (log scale)"},
	    .y = {fmax(0, floor(bottom * 10 - 0.5) / 10), 1, .label = "MAUVE, c = 5"}};
	struct svg svg;
	svg_begin(&svg, file, &frame, "MAUVE of each run over its epsilon");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = get_row(e, i);
		const struct report_receipt *receipt = find_receipt(report, row);
		const char *colour = chart_colour(e, i),
		           *name =
		               report_base_name(json_string_value(json_object_get(row, "name")));
		if (!report_cell(row, EVALUATION_FINE, &value, &error)) continue;
		if (!is_kind(row, "run"))
			draw_anchor(&svg, colour, value,
			            json_string_value(json_object_get(row, "kind")));
		else if (receipt && !isinf(receipt->epsilon)) {
			svg_dot(&svg, colour, receipt->epsilon, value, error);
			// To the side where there is room.
			const bool left = receipt->epsilon * receipt->epsilon > least * most;
			svg_words(&svg, colour, left ? "end" : "start",
			          receipt->epsilon * (left ? 0.96 : 1.04), value, name);
		}
	}
	svg_end(&svg);
	return true;
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* Shares of the texts, by bin; their sum is 1. False: out of memory, or there are none. */
static bool take_shares(const json_t *counts, double **shares, size_t *bins) {
	double sum = 0;
	*bins = json_array_size(counts);
	*shares = calloc(*bins + 1, sizeof **shares);
	for (size_t i = 0; *shares && i < *bins; i++)
		sum += (*shares)[i] = (double)json_integer_value(json_array_get(counts, i));
	for (size_t i = 0; *shares && i < *bins; i++) (*shares)[i] /= fmax(1, sum);
	return *shares && sum > 0;
}

/* Where bin i begins: at its edge, or at its number for clusters. */
static double find_edge(const json_t *edges, size_t i) {
	return json_is_array(edges) ? json_number_value(json_array_get(edges, i)) : (double)i;
}

/* The outline of bars: two points for each. */
static void draw_outline(const struct svg *svg, const char *class, const json_t *edges,
                         const double *shares, size_t bins) {
	struct svg_point *points = calloc(2 * bins + 2, sizeof *points);
	if (!points) return;
	points[0] = (struct svg_point){find_edge(edges, 0), 0};
	for (size_t i = 0; i < bins; i++) {
		points[2 * i + 1] = (struct svg_point){find_edge(edges, i), shares[i]};
		points[2 * i + 2] = (struct svg_point){find_edge(edges, i + 1), shares[i]};
	}
	points[2 * bins + 1] = (struct svg_point){find_edge(edges, bins), 0};
	svg_line(svg, class, points, 2 * bins + 2);
	free(points);
}

bool chart_histogram(FILE *file, const struct report_evaluation *e, int which, size_t row) {
	static const char *const labels[] = {[EVALUATION_LENGTHS] = "tokens of a text",
	                                     [EVALUATION_PERPLEXITIES] = "perplexity (log scale)",
	                                     [EVALUATION_CLUSTERED] = "cluster"};
	const char *key = evaluation_histograms[which];
	const json_t *all = json_object_get(json_object_get(e->document, "histograms"), key),
	             *edges = json_object_get(all, "edges");
	double *real = NULL, *own = NULL, top = 0;
	size_t bins = 0;
	const bool shown =
	    take_shares(json_object_get(all, "references"), &real, &bins) &&
	    take_shares(json_object_get(json_object_get(get_row(e, row), "histograms"), key), &own,
	                &bins);
	for (size_t i = 0; shown && i < bins; i++) top = fmax(top, fmax(real[i], own[i]));
	if (shown) {
		const bool log = which == EVALUATION_PERPLEXITIES;
		const struct svg_frame frame = {
		    .width = 236,
		    .height = 160,
		    .x = {find_edge(edges, 0), find_edge(edges, bins), .log = log, .whole = !log,
		          .label = labels[which]},
		    .y = {0, top * 1.05, .percent = true, .label = "share of texts"}};
		struct svg svg;
		svg_begin(&svg, file, &frame,
		          json_string_value(json_object_get(get_row(e, row), "name")));
		for (size_t i = 0; i < bins; i++)
			svg_bar(&svg, "real", find_edge(edges, i), find_edge(edges, i + 1),
			        real[i]);
		draw_outline(&svg, chart_colour(e, row), edges, own, bins);
		svg_end(&svg);
	}
	free(real);
	free(own);
	return shown;
}

/* ---- alarms ---------------------------------------------------------------------------------- */

/* The edge of what can be, from no alarms to alarms everywhere. */
static void trace_alarms(double epsilon, double delta, struct svg_point points[CURVE + 1]) {
	for (int i = 0; i <= CURVE; i++) {
		// Closer together near 0, where the curve is steep.
		const double x = pow((double)i / CURVE, 3);
		points[i] = (struct svg_point){x, report_alarms(epsilon, delta, x)};
	}
}

/* A share of two counts of a game, from 0 to 1; NaN = it has no such counts. */
static double take_alarm_share(const struct report_game *game, const char *part) {
	const double all = json_number_value(json_object_get(game->numbers, "games")),
	             some = json_number_value(json_object_get(game->numbers, part));
	return json_object_get(game->numbers, part) && all > 0 && some >= 0 && some <= all
	           ? some / all
	           : NAN;
}

/* A game's alarms: its curve, or the one point of its threshold. False: it has none. */
static bool draw_game(const struct svg *svg, const char *class, const struct report_game *game) {
	const json_t *roc = json_object_get(game->numbers, "roc");
	const size_t count = json_array_size(roc);
	const double x = take_alarm_share(game, "alarms"), y = take_alarm_share(game, "hits");
	struct svg_point *points = calloc(count + 1, sizeof *points);
	for (size_t i = 0; points && i < count; i++) {
		const json_t *point = json_array_get(roc, i);
		points[i] = (struct svg_point){json_number_value(json_array_get(point, 0)),
		                               json_number_value(json_array_get(point, 1))};
	}
	if (svg && points && count) svg_line(svg, class, points, count);
	if (svg && !isnan(x) && !isnan(y)) svg_dot(svg, class, x, y, NAN);
	free(points);
	return count || (!isnan(x) && !isnan(y));
}

bool chart_alarms(FILE *file, const struct report_receipt *receipt,
                  const struct report_audit *audit) {
	const double epsilon = audit ? audit->claimed : receipt->epsilon,
	             delta = audit ? json_number_value(json_object_get(audit->document, "delta"))
	                           : receipt->delta;
	if (audit && !draw_game(NULL, "", &audit->game)) return false;
	const struct svg_frame frame = {.width = 310,
	                                .height = 290,
	                                .x = {0, 1, .percent = true, .label = "false alarms"},
	                                .y = {0, 1, .percent = true, .label = "true alarms"}};
	struct svg svg;
	struct svg_point area[CURVE + 3];
	svg_begin(&svg, file, &frame, "true alarms over false alarms");
	if (epsilon > 0 && !isinf(epsilon)) {
		// Above the curve the guarantee would be broken.
		trace_alarms(epsilon, fmax(0, delta), area);
		area[CURVE + 1] = (struct svg_point){1, 1};
		area[CURVE + 2] = (struct svg_point){0, 1};
		svg_area(&svg, "beyond", area, CURVE + 3);
		svg_line(&svg, "edge", area, CURVE + 1);
	}
	const struct svg_point chance[] = {{0, 0}, {1, 1}};
	svg_line(&svg, "alone", chance, 2);
	if (audit) (void)draw_game(&svg, "run1", &audit->control);
	if (audit) (void)draw_game(&svg, "run0", &audit->game);
	svg_end(&svg);
	return true;
}

/* ---- budgets --------------------------------------------------------------------------------- */

bool chart_budget(FILE *file, const struct ledger_standing *standing) {
	const double limit =
	                 standing->in_epsilon ? standing->dataset.epsilon : standing->dataset.rho,
	             spent = standing->in_epsilon ? standing->epsilon_spent : standing->spent,
	             share = fmin(1, fmax(0, spent / limit));
	if (!(limit > 0) || !isfinite(limit) || isnan(share)) return false;
	fprintf(
	    file,
	    "<svg role=\"img\" viewBox=\"0 0 640 22\" width=\"640\" height=\"22\"><title>share of "
	    "the limit that is spent</title>\n"
	    "<rect class=\"left\" x=\"0.5\" y=\"0.5\" width=\"639\" height=\"21\"/>\n"
	    "<rect class=\"spent\" x=\"0.5\" y=\"0.5\" width=\"%.1f\" height=\"21\"/>\n</svg>\n",
	    639 * share);
	return true;
}
