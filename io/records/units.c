// SPDX-License-Identifier: Apache-2.0
// Four parts of units.h: sums that round to the safe side, decimals, the charges of one run, and
// sums over the charges of several runs.
#include "io/records/units.h"

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

/* ---- decimals -------------------------------------------------------------------------------- */

/* A number in units of 1e-24. 2^48 is some 2.8e14, and 2^128 of them some 3.4e14. */
typedef unsigned __int128 decimal;
enum { PLACES = 24, HALF = 12, FEWEST = 15, MOST = 17 }; /* digits */

static decimal raise_ten(int exponent) {
	decimal power = 1;
	for (; exponent > 0; exponent--) power *= 10;
	return power;
}

/* Reads digits, with a point and an exponent maybe. False: no decimal of at most PLACES places, or
 * 2^48 or more. */
static bool parse_decimal(const char *text, decimal *number) {
	int exponent = 0;
	bool point = false, digits = false;
	*number = 0;
	text += *text == '+';
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		digits = true;
		// A zero behind the point changes nothing but the places.
		if (*number > ((decimal)1 << 120)) return false;
		*number = *number * 10 + (decimal)(*text - '0');
		exponent -= point;
	}
	if (digits && (*text == 'e' || *text == 'E')) {
		char *end;
		const long given = strtol(text + 1, &end, 10);
		if (end == text + 1 || given < -400 || given > 400) return false;
		exponent += (int)given;
		text = end;
	}
	if (!digits || *text) return false;
	if (!*number) return true;
	for (; exponent < -PLACES; exponent++) {
		if (*number % 10) return false;
		*number /= 10;
	}
	for (; exponent > -PLACES; exponent--)
		if (__builtin_mul_overflow(*number, (decimal)10, number)) return false;
	return *number < raise_ten(PLACES) << 48;
}

/* The decimal of the fewest digits that read back as the double. */
static bool find_decimal(double value, decimal *number) {
	char text[UNITS_NUMBER];
	if (!(value >= 0) || !isfinite(value)) return false;
	for (int digits = FEWEST; digits <= MOST; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value) break;
	}
	return parse_decimal(text, number);
}

bool units_decimal(double value) {
	decimal number;
	return find_decimal(value, &number);
}

/* The double nearest to the number. It stands for the number where that has few digits. */
static double find_nearest_double(decimal number) {
	char text[3 * HALF + 32];
	const decimal one = raise_ten(PLACES), half = raise_ten(HALF), part = number % one;
	(void)snprintf(text, sizeof text, "%llu.%012llu%012llu", (unsigned long long)(number / one),
	               (unsigned long long)(part / half), (unsigned long long)(part % half));
	return strtod(text, NULL);
}

/* The units that are in a double of 0 to 2^48. *more: it is above them. */
static decimal count_decimal_units(double value, bool *more) {
	// A fraction has at most 1074 places, and 24 of them count, with whether others follow.
	char text[1152];
	decimal whole = 0;
	(void)snprintf(text, sizeof text, "%.1080f", value);
	const char *point = strchr(text, '.');
	for (const char *at = text; at <= point + PLACES; at++)
		if (at != point) whole = whole * 10 + (decimal)(*at - '0');
	*more = point[1 + PLACES + strspn(point + 1 + PLACES, "0")] != 0;
	return whole;
}

/* The order of such a double and a number: below 0, 0 or above. */
static int compare_with_decimal(double value, decimal number) {
	bool more;
	const decimal whole = count_decimal_units(value, &more);
	return whole != number ? (whole < number ? -1 : 1) : more;
}

/* A delta in units, rounded up; what it stands for where that is above it. */
static decimal charge_delta(double delta) {
	decimal number;
	bool more;
	if (find_decimal(delta, &number) && compare_with_decimal(delta, number) <= 0) return number;
	return count_decimal_units(delta, &more) + more;
}

bool units_deltas_fit(unsigned __int128 deltas, double limit) {
	decimal number;
	return (find_decimal(limit, &number) && deltas <= number) ||
	       compare_with_decimal(limit, deltas) >= 0;
}

static double round_decimal(decimal number, bool up) {
	const double nearest = find_nearest_double(number);
	const int order = compare_with_decimal(nearest, number);
	if (up ? order >= 0 : order <= 0) return nearest;
	return nextafter(nearest, up ? INFINITY : 0);
}

/* The double that stands for the number where there is one, else one on that side of it. */
static double show_decimal(decimal number, bool up) {
	decimal meant;
	const double nearest = find_nearest_double(number);
	return find_decimal(nearest, &meant) && meant == number ? nearest
	                                                        : round_decimal(number, up);
}

bool units_read(const char *text, bool up, double *value) {
	decimal typed, meant;
	char *end;
	*value = strtod(text, &end);
	if (end == text || *end || !(*value > 0) || !isfinite(*value)) {
		*value = NAN;
		return false;
	}
	if (!parse_decimal(text, &typed)) {
		*value = nextafter(*value, up ? INFINITY : 0);
		return false;
	}
	if (find_decimal(*value, &meant) && meant == typed) return true;
	*value = round_decimal(typed, up);
	return false;
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

/* Reads the decimal that charge number `index` costs. */
static decimal read_decimal_charge(const struct charges *charges, size_t index) {
	union charge charge;
	decimal number = 0;
	(void)find_decimal(read_charge(charges, index, &charge), &number);
	return number;
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
	       one->decimal == other->decimal && one->delta == other->delta &&
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
		if (charges->decimal && (charges->by_key || !units_decimal(rho))) return false;
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
	double delta;    /* > 0: `rho` is an epsilon */
	decimal decimal; /* > 0: `rho` stands for it */
};

/* Rounded sums depend on their order. So shares of one unit, or with one first line, are sorted by
 * rho. Then the sum does not depend on the order of the runs. */
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

/* Adds a share to the sum of one unit. */
static void add_share(struct units_total *sum, const struct share *share) {
	if (!share->decimal) sum->others = units_add(sum->others, share->rho);
	else if (__builtin_add_overflow(sum->decimals, share->decimal, &sum->decimals))
		sum->others = INFINITY;
}

/* Keeps the sum of one unit where none was greater. */
static void keep_most(struct units_total *most, const struct units_total *sum) {
	if (sum->others > 0)
		most->others =
		    fmax(most->others, units_add(sum->others, round_decimal(sum->decimals, true)));
	else if (sum->decimals > most->decimals) most->decimals = sum->decimals;
}

/* The greatest sum of rho over one line. Sorts the shares. From line to line the sum rises only
 * where a span begins. So the first lines of spans are enough. Three spans, end excluded: 0
 * to 10 with rho 1, 5 to 20 with 2, 10 to 30 with 4. Their sums at 0, 5 and 10 are 1, 3 and 6. */
static struct units_total find_most_by_line(struct share *shares, size_t count) {
	struct units_total most = {0};
	if (count) qsort(shares, count, sizeof *shares, compare_first_lines);
	for (size_t i = 0; i < count; i++) {
		const uint64_t line = shares[i].whom.span.first;
		struct units_total sum = {0};
		if (i + 1 < count && shares[i + 1].whom.span.first == line) continue;
		for (size_t j = 0; j <= i; j++)
			if (shares[j].whom.span.end > line) add_share(&sum, &shares[j]);
		keep_most(&most, &sum);
	}
	return most;
}

bool units_spent(const struct charges *const *all, size_t count, struct units_total *total) {
	size_t keys = 0, spans = 0, places = 0;
	for (size_t i = 0; i < count; i++) places += count_of(all[i]);
	struct share *shares = calloc(places + 1, sizeof *shares);
	if (!shares) return false;
	// shares[0 .. keys-1] become those of units, the rest those of spans: the former fill the
	// array from the front, the latter from the back.
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count_of(all[i]); j++) {
			struct share *share =
			    all[i]->by_key ? &shares[keys++] : &shares[places - ++spans];
			share->rho = read_charge(all[i], j, &share->whom);
			if (all[i]->decimal) share->decimal = read_decimal_charge(all[i], j);
		}
	}
	*total = find_most_by_line(shares + keys, spans);
	const double by_key = find_most_by_key(shares, keys);
	if (by_key > 0)
		*total = (struct units_total){.others = units_add(units_most_of(total), by_key)};
	free(shares);
	return true;
}

bool units_within(const struct units_total *total, double limit, bool is_decimal) {
	decimal number;
	const bool exact = is_decimal && find_decimal(limit, &number);
	// Never `above the limit`: that is false for a NaN, which would then pass.
	if (!(total->others <= (exact ? round_decimal(number, false) : limit))) return false;
	if (exact) return total->decimals <= number;
	return !total->decimals || !(limit < 0x1p48) ||
	       compare_with_decimal(limit, total->decimals) >= 0;
}

/* The total as a double, exact or rounded up. */
double units_most_of(const struct units_total *total) {
	if (!(total->others > 0)) return show_decimal(total->decimals, true);
	return fmax(total->others, round_decimal(total->decimals, true));
}

double units_left_of(const struct units_total *total, double limit, bool is_decimal) {
	decimal number;
	const bool exact = is_decimal && find_decimal(limit, &number);
	if (exact && !(total->others > 0))
		return number > total->decimals ? show_decimal(number - total->decimals, false) : 0;
	return units_left(exact ? round_decimal(number, false) : limit,
	                  fmax(total->others, round_decimal(total->decimals, true)));
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
			sums.deltas += shares[j].delta > 0 ? charge_delta(shares[j].delta) : 0;
		}
		*most = fmax(*most, cost(user, &sums));
	}
	free(shares);
	return true;
}
