// SPDX-License-Identifier: Apache-2.0
// Three parts of units.h: sums that round to the safe side, the charges of one run, and sums over
// the charges of several runs.
#include "io/units.h"

#include "base/misuse.h"
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rounding -------------------------------------------------------------------------------- */

/* a + b - sum, exactly, where `sum` is a + b as a double. (Knuth's two-sum; a sum of doubles has no
 * underflow.) */
static double rounding_loss_of(double a, double b, double sum) {
	double part = sum - a;
	return (a - (sum - part)) + (b - part);
}

double units_add(double a, double b) {
	double sum = a + b;
	return isfinite(sum) && rounding_loss_of(a, b, sum) > 0 ? nextafter(sum, INFINITY) : sum;
}

double units_multiply(uint64_t count, double rho) {
	// Above 2^53 not every count is a double, so it is rounded up first. The part that the
	// product then loses is a multiple of rho's last bit. So it is a double, and fma has it.
	double times = (double)count;
	if (times < 0x1p63 && (uint64_t)times < count) times = nextafter(times, INFINITY);
	double product = times * rho;
	return isfinite(product) && fma(times, rho, -product) > 0 ? nextafter(product, INFINITY)
	                                                          : product;
}

double units_left(double limit, double spent) {
	double left = limit - spent;
	if (!(left > 0)) return 0;
	return rounding_loss_of(limit, -spent, left) < 0 ? nextafter(left, 0) : left;
}

void units_print(double value, bool up, char text[UNITS_NUMBER]) {
	double shown = value;
	for (int i = 0;; i++) {
		(void)snprintf(text, UNITS_NUMBER, "%.6g", shown);
		double back = strtod(text, NULL);
		if (i == 8 || !(value > 0) || !isfinite(value) ||
		    (up ? back >= value : back <= value))
			return;
		// The text is on the wrong side: try its neighbour, one unit of the sixth digit
		// away. From the fifth time on go two units.
		double digit = pow(10, floor(log10(value)) - 5);
		shown = back + (up ? digit : -digit) * (1 + i / 4);
		if (shown < 0) shown = 0;
	}
}

/* ---- charges of one run ---------------------------------------------------------------------- */

/* Whom a charge is for. */
union charge {
	struct {
		uint64_t first, end; /* lines first .. end-1 */
	} span;
	unsigned char unit[UNIT_NAME];
};

/* Reads charge number `index`; returns its rho. */
static double read_charge(const struct charges *charges, size_t index, union charge *charge) {
	const unsigned char *at = charges->bytes + index * CHARGE_BYTES;
	uint64_t bits;
	double rho;
	memcpy(charge, at, UNIT_NAME);
	if (!charges->by_key) {
		charge->span.first = le64toh(charge->span.first);
		charge->span.end = le64toh(charge->span.end);
	}
	memcpy(&bits, at + UNIT_NAME, sizeof bits);
	bits = le64toh(bits);
	memcpy(&rho, &bits, sizeof rho);
	return rho;
}

/* Appends a charge; there is room for it. */
static void write_charge(struct charges *charges, const unsigned char unit[UNIT_NAME], double rho) {
	unsigned char *at = charges->bytes + charges->size;
	uint64_t bits;
	memcpy(&bits, &rho, sizeof bits);
	bits = htole64(bits);
	memcpy(at, unit, UNIT_NAME);
	memcpy(at + UNIT_NAME, &bits, sizeof bits);
	charges->size += CHARGE_BYTES;
}

static size_t count_of(const struct charges *charges) {
	return charges->size / CHARGE_BYTES;
}

bool charges_of_lines(uint64_t first, uint64_t end, double rho, struct charges *charges) {
	REQUIRE(first < end);
	const uint64_t span[2] = {htole64(first), htole64(end)};
	unsigned char place[UNIT_NAME];
	memcpy(place, span, sizeof place);
	*charges = (struct charges){.bytes = malloc(CHARGE_BYTES)};
	if (charges->bytes) write_charge(charges, place, rho);
	return charges->bytes != NULL;
}

bool units_same(const struct unit_record *a, const struct unit_record *b) {
	return !memcmp(a->unit, b->unit, UNIT_NAME);
}

static int compare_unit_and_batch(const void *one, const void *other) {
	const struct unit_record *a = one, *b = other;
	int order = memcmp(a->unit, b->unit, UNIT_NAME);
	return order ? order : (a->batch > b->batch) - (a->batch < b->batch);
}

void units_sort(struct unit_record *records, size_t count) {
	if (count) qsort(records, count, sizeof *records, compare_unit_and_batch);
}

bool charges_of_records(struct unit_record *records, size_t count, double rho, bool once,
                        struct charges *charges) {
	*charges = (struct charges){.by_key = true, .bytes = calloc(count + 1, CHARGE_BYTES)};
	if (!charges->bytes) return false;
	units_sort(records, count);
	for (size_t at = 0; at < count;) {
		const unsigned char *unit = records[at].unit;
		double sum = 0;
		for (size_t end = at; at < count && !memcmp(records[at].unit, unit, UNIT_NAME);
		     at = end) {
			while (end < count && !compare_unit_and_batch(&records[at], &records[end]))
				end++;
			// All records are in memory, so a group has far fewer than 2^32: its square
			// fits.
			uint64_t group = end - at;
			sum = units_add(sum, units_multiply(group * group, rho));
		}
		write_charge(charges, unit, once ? rho : sum);
	}
	return true;
}

bool charges_same(const struct charges *one, const struct charges *other) {
	return one->by_key == other->by_key && one->size == other->size &&
	       one->delta == other->delta &&
	       (!one->size || !memcmp(one->bytes, other->bytes, one->size));
}

void charges_free(struct charges *charges) {
	free(charges->bytes);
	*charges = (struct charges){0};
}

bool charges_valid(const struct charges *charges) {
	union charge charge, before = {0};
	if (charges->size % CHARGE_BYTES) return false;
	for (size_t i = 0; i < count_of(charges); i++) {
		double rho = read_charge(charges, i, &charge);
		if (!(rho > 0) || !isfinite(rho)) return false;
		if (!charges->by_key && charge.span.first >= charge.span.end) return false;
		if (charges->by_key && i && memcmp(before.unit, charge.unit, UNIT_NAME) >= 0)
			return false;
		before = charge;
	}
	return true;
}

double charges_most(const struct charges *charges) {
	union charge charge;
	double most = 0;
	for (size_t i = 0; i < count_of(charges); i++)
		most = fmax(most, read_charge(charges, i, &charge));
	return most;
}

/* ---- sums over runs -------------------------------------------------------------------------- */

/* One charge of one run. */
struct share {
	union charge whom;
	double rho;
	double delta; /* > 0: `rho` is an epsilon */
};

/* Rounded sums depend on their order. So shares of one unit, or with one first line, are sorted by
 * rho: then the sum does not depend on the order of the runs. */
static int compare_rho(const struct share *a, const struct share *b) {
	const int order = (a->rho > b->rho) - (a->rho < b->rho);
	return order ? order : (a->delta > b->delta) - (a->delta < b->delta);
}

static int compare_units(const void *one, const void *other) {
	const struct share *a = one, *b = other;
	int order = memcmp(a->whom.unit, b->whom.unit, UNIT_NAME);
	return order ? order : compare_rho(a, b);
}

static int compare_first_lines(const void *one, const void *other) {
	const struct share *a = one, *b = other;
	int order =
	    (a->whom.span.first > b->whom.span.first) - (a->whom.span.first < b->whom.span.first);
	return order ? order : compare_rho(a, b);
}

/* The greatest sum of rho over one unit. Sorts the shares. */
static double find_most_by_key(struct share *shares, size_t count) {
	double most = 0, sum = 0;
	if (count) qsort(shares, count, sizeof *shares, compare_units);
	for (size_t i = 0; i < count; i++) {
		if (i && memcmp(shares[i - 1].whom.unit, shares[i].whom.unit, UNIT_NAME) != 0)
			sum = 0;
		sum = units_add(sum, shares[i].rho);
		most = fmax(most, sum);
	}
	return most;
}

/* The greatest sum of rho over one line. Sorts the shares. From line to line the sum rises only
 * where a span begins. So the first lines of spans are enough. Three spans, end excluded: 0
 * to 10 with rho 1, 5 to 20 with 2, 10 to 30 with 4. Their sums at 0, 5 and 10 are 1, 3 and 6. */
static double find_most_by_line(struct share *shares, size_t count) {
	double most = 0;
	if (count) qsort(shares, count, sizeof *shares, compare_first_lines);
	for (size_t i = 0; i < count; i++) {
		const uint64_t line = shares[i].whom.span.first;
		double sum = 0;
		if (i + 1 < count && shares[i + 1].whom.span.first == line) continue;
		for (size_t j = 0; j <= i; j++)
			if (shares[j].whom.span.end > line) sum = units_add(sum, shares[j].rho);
		most = fmax(most, sum);
	}
	return most;
}

bool units_spent(const struct charges *const *all, size_t count, double *spent) {
	size_t keys = 0, spans = 0, total = 0;
	for (size_t i = 0; i < count; i++) total += count_of(all[i]);
	struct share *shares = calloc(total + 1, sizeof *shares);
	if (!shares) return false;
	// shares[0 .. keys-1] become those of units, the rest those of spans: the former fill the
	// array from the front, the latter from the back.
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count_of(all[i]); j++) {
			struct share *share =
			    all[i]->by_key ? &shares[keys++] : &shares[total - ++spans];
			share->rho = read_charge(all[i], j, &share->whom);
		}
	}
	*spent = units_add(find_most_by_line(shares + keys, spans), find_most_by_key(shares, keys));
	free(shares);
	return true;
}

bool units_most(const struct charges *const *all, size_t count,
                double (*cost)(const void *user, const struct units_sums *sums), const void *user,
                double *most) {
	size_t total = 0, filled = 0;
	for (size_t i = 0; i < count; i++) total += count_of(all[i]);
	struct share *shares = calloc(total + 1, sizeof *shares);
	*most = 0;
	if (!shares) return false;
	for (size_t i = 0; i < count; i++) {
		REQUIRE(!all[i]->by_key);
		for (size_t j = 0; j < count_of(all[i]); j++, filled++) {
			shares[filled].rho = read_charge(all[i], j, &shares[filled].whom);
			shares[filled].delta = all[i]->delta;
		}
	}
	if (filled) qsort(shares, filled, sizeof *shares, compare_first_lines);
	// As in find_most_by_line.
	for (size_t i = 0; i < filled; i++) {
		const uint64_t line = shares[i].whom.span.first;
		struct units_sums sums = {0};
		if (i + 1 < filled && shares[i + 1].whom.span.first == line) continue;
		for (size_t j = 0; j <= i; j++) {
			double *sum = shares[j].delta > 0 ? &sums.epsilon : &sums.rho;
			if (shares[j].whom.span.end <= line) continue;
			*sum = units_add(*sum, shares[j].rho);
			sums.delta = units_add(sums.delta, shares[j].delta);
		}
		*most = fmax(*most, cost(user, &sums));
	}
	free(shares);
	return true;
}
