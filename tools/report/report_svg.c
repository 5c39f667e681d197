// SPDX-License-Identifier: Apache-2.0
// How report_svg.h draws: values to places in the picture, and ticks at round numbers.
#include "tools/report/report_svg.h"

#include "tools/report/report_text.h"
#include <math.h>

enum { LEFT = 52, RIGHT = 22, TOP = 20, BOTTOM = 40, TICKS = 5 };

/* The share of the axis at which a value stands, from 0 to 1. */
static double place_value(const struct svg_axis *axis, double value) {
	const double from = axis->log ? log(axis->from) : axis->from,
	             to = axis->log ? log(axis->to) : axis->to,
	             at = axis->log ? log(fmax(value, axis->from)) : value;
	return fmin(1, fmax(0, (at - from) / (to - from)));
}

static double svg_x(const struct svg *svg, double value) {
	return svg->left + (svg->right - svg->left) * place_value(&svg->frame->x, value);
}

static double svg_y(const struct svg *svg, double value) {
	return svg->bottom - (svg->bottom - svg->top) * place_value(&svg->frame->y, value);
}

/* The distance of ticks: 1, 2 or 5 times a power of ten, for at most TICKS of them. */
static double tick_step(double range) {
	const double rough = range / TICKS, power = pow(10, floor(log10(rough)));
	return rough <= power       ? power
	       : rough <= 2 * power ? 2 * power
	       : rough <= 5 * power ? 5 * power
	                            : 10 * power;
}

static void draw_tick(const struct svg *svg, bool upright, double value) {
	const struct svg_axis *axis = upright ? &svg->frame->y : &svg->frame->x;
	char text[32];
	// A tick at 0 may come out as -1e-17.
	if (fabs(value) < 1e-12) value = 0;
	(void)snprintf(text, sizeof text, axis->percent ? "%.4g %%" : "%.4g",
	               axis->percent ? 100 * value : value);
	if (upright)
		fprintf(
		    svg->file,
		    "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
		    "<text class=\"tick\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    svg->left, svg_y(svg, value), svg->right, svg_y(svg, value), svg->left - 6,
		    svg_y(svg, value) + 3.5, text);
	else
		fprintf(
		    svg->file,
		    "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
		    "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    svg_x(svg, value), svg->bottom, svg_x(svg, value), svg->bottom + 4,
		    svg_x(svg, value), svg->bottom + 16, text);
}

static void draw_ticks(const struct svg *svg, bool upright) {
	const struct svg_axis *axis = upright ? &svg->frame->y : &svg->frame->x;
	if (axis->log) {
		// 1, 2 and 5 of each power of ten, or of many powers 1 alone.
		static const double parts[] = {1, 2, 5};
		const bool many = axis->to / axis->from > 300;
		for (double power = pow(10, floor(log10(axis->from)));
		     power > 0 && power <= axis->to; power *= 10)
			for (size_t i = 0; i < (many ? 1 : 3); i++)
				if (power * parts[i] >= axis->from * (1 - 1e-9) &&
				    power * parts[i] <= axis->to * (1 + 1e-9))
					draw_tick(svg, upright, power * parts[i]);
		return;
	}
	const double round = tick_step(axis->to - axis->from),
	             step = axis->whole ? fmax(1, round) : round;
	const double first = ceil(axis->from / step - 1e-9) * step;
	// Counted, as a step may be too small to change a large value.
	for (int i = 0; i <= 2 * TICKS && first + i * step <= axis->to + step * 1e-9; i++)
		draw_tick(svg, upright, first + i * step);
}

void svg_begin(struct svg *svg, FILE *file, const struct svg_frame *frame, const char *title) {
	*svg = (struct svg){.file = file,
	                    .frame = frame,
	                    .left = LEFT,
	                    .right = frame->width - RIGHT,
	                    .top = TOP,
	                    .bottom = frame->height - BOTTOM};
	fprintf(
	    file,
	    "<svg role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\"><title>",
	    frame->width, frame->height, frame->width, frame->height);
	report_html(file, title);
	fputs("</title>\n", file);
	draw_ticks(svg, true);
	draw_ticks(svg, false);
	fprintf(file,
	        "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n"
	        "<text class=\"label\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n"
	        "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(12 %.1f) "
	        "rotate(-90)\">%s</text>\n",
	        svg->left, svg->bottom, svg->right, svg->bottom, (svg->left + svg->right) / 2,
	        frame->height - 6, frame->x.label, (svg->top + svg->bottom) / 2, frame->y.label);
}

void svg_end(struct svg *svg) {
	fputs("</svg>\n", svg->file);
}

static void put_points(const struct svg *svg, const struct svg_point *points, size_t count) {
	for (size_t i = 0; i < count; i++)
		fprintf(svg->file, "%s%.2f,%.2f", i ? " " : "", svg_x(svg, points[i].x),
		        svg_y(svg, points[i].y));
	fputs("\"/>\n", svg->file);
}

void svg_line(const struct svg *svg, const char *class, const struct svg_point *points,
              size_t count) {
	fprintf(svg->file, "<polyline class=\"line %s\" points=\"", class);
	put_points(svg, points, count);
}

void svg_area(const struct svg *svg, const char *class, const struct svg_point *points,
              size_t count) {
	fprintf(svg->file, "<polygon class=\"area %s\" points=\"", class);
	put_points(svg, points, count);
}

void svg_bar(const struct svg *svg, const char *class, double from, double to, double y) {
	const double left = svg_x(svg, from), top = svg_y(svg, y);
	if (svg->bottom - top < 0.05) return;
	fprintf(svg->file,
	        "<rect class=\"bar %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
	        class, left, top, fmax(0.5, svg_x(svg, to) - left), svg->bottom - top);
}

void svg_dot(const struct svg *svg, const char *class, double x, double y, double error) {
	if (!isnan(error))
		fprintf(svg->file,
		        "<line class=\"line %s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>",
		        class, svg_x(svg, x), svg_y(svg, y - error), svg_x(svg, x),
		        svg_y(svg, y + error));
	fprintf(svg->file, "<circle class=\"dot %s\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/>\n", class,
	        svg_x(svg, x), svg_y(svg, y));
}

void svg_words(const struct svg *svg, const char *class, const char *anchor, double x, double y,
               const char *words) {
	fprintf(svg->file, "<text class=\"words %s\" text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\">",
	        class, anchor, svg_x(svg, x), svg_y(svg, y) - 5);
	report_html(svg->file, words);
	fputs("</text>\n", svg->file);
}
