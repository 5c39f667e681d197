// SPDX-License-Identifier: Apache-2.0
// laws.h: the formulae of the published word mechanisms, over distances between words.
//
// Distances from a private word are private; so are the weights. Nothing here is proven private.
// Example, SANTEXT at epsilon 2 on a line: distances 0, 1, 2 and slope 1 give the weights 1, .368
// and .135, so the word itself is drawn with 1 / 1.503 = .665.
#ifndef CUTTLE_ENGINE_LAWS_H
#define CUTTLE_ENGINE_LAWS_H

#include <stddef.h>
#include <stdint.h>

/* weights[i] = exp(-slope (distances[i] - the least of them)): the nearest word has weight 1. An
 * infinite distance is outside the support and has weight 0. At least one distance is finite. */
void laws_weights(double slope, const double *distances, size_t count, double *weights);

/* The integer that stands for a weight of 0 .. 1: round(2^40 weight), at least 1 on the support. */
uint64_t laws_integer(double weight);

/* Slopes. SANTEXT: P(y | x) ~ exp(-(epsilon / 2) d(x, y)) (Yue et al. 2021, Algorithm 1). */
double laws_santext_slope(double epsilon);

/* CUSTEXT: P ~ exp(epsilon u / 2), where u falls from 1 at the least distance of the set to 0 at
 * the greatest finite one (Chen et al. 2023, section 4.2). One distinct distance: the slope is 0,
 * and all words are alike. */
double laws_custext_slope(double epsilon, const double *distances, size_t count);

/* RANTEXT (Tong et al. 2023, Algorithm 2). Only words at a distance below the radius are in the
 * list: this makes all others infinite, and returns the slope, since P ~ exp((epsilon / 2)
 * (1 - d / radius)). At least one distance is below the radius. */
double laws_rantext_slope(double epsilon, double radius, double *distances, size_t count);

/* Z of the paper's curve, fitted to one word in its own vectors: epsilon below 2, then
 * a ln(b epsilon + c) + d. */
double laws_rantext_scale(double epsilon);

/* A Laplace number of scale 1 from 64 bits: its size is -ln((low 53 bits + 1/2) / 2^53), and bit 63
 * is its sign. Example: 1 << 52 gives ln 2, less 2^-53. */
double laws_laplace(uint64_t bits);

/* The radius: the Euclidean norm of Y, where Y_i is Laplace of scale spreads[i] / scale. bits:
 * [width] random. spreads: [width] greatest less least coordinate i of all words. */
double laws_rantext_radius(const double *spreads, double scale, const uint64_t *bits, size_t width);

#endif
