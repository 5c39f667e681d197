// SPDX-License-Identifier: Apache-2.0
// report_svg.h: a small writer of charts as inline SVG, of lines, bars, points and two axes.
//
// Numbers may be PRIVATE; whoever calls frames them. Colours are classes of the page's style sheet,
// so charts print as they are seen. There is no script in them.
//
//     svg_begin(&svg, file, &frame, "what it shows");
//     svg_line(&svg, "run", points, count);
//     svg_end(&svg);
#ifndef CUTTLE_TOOLS_REPORT_REPORT_SVG_H
#define CUTTLE_TOOLS_REPORT_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct svg_axis {
	double from; /* the values at both ends; from < to, and above 0 with `log` */
	double to;
	bool log;
	bool whole;        /* ticks are whole numbers */
	bool percent;      /* ticks are shown times 100, with a sign */
	const char *label; /* plain words of ours */
};

struct svg_frame {
	double width; /* of the picture, in its own units, about a pixel each */
	double height;
	struct svg_axis x;
	struct svg_axis y;
};

struct svg_point {
	double x;
	double y;
};

struct svg {
	FILE *file;
	const struct svg_frame *frame;
	double left, right, top, bottom; /* the plot's edges in the picture */
};

/* Writes the picture's beginning, both axes, their ticks and labels. The frame must outlive *svg.
 * `title` is foreign text: it is escaped. */
void svg_begin(struct svg *svg, FILE *file, const struct svg_frame *frame, const char *title);
void svg_end(struct svg *svg);

/* All shapes have a class, of letters. Values outside the axes are cut to them. */
void svg_line(const struct svg *svg, const char *class, const struct svg_point *points,
              size_t count);
/* The same, closed and filled. */
void svg_area(const struct svg *svg, const char *class, const struct svg_point *points,
              size_t count);
/* A bar from x `from` to x `to`, and from 0 up to y. */
void svg_bar(const struct svg *svg, const char *class, double from, double to, double y);
/* A point with a line of `error` on either side of y; NaN = none. */
void svg_dot(const struct svg *svg, const char *class, double x, double y, double error);
/* Words at a place; `anchor` is start, middle or end. They are foreign: they are escaped. */
void svg_words(const struct svg *svg, const char *class, const char *anchor, double x, double y,
               const char *words);

#endif
