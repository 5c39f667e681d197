// SPDX-License-Identifier: Apache-2.0
// claim.h: what a mechanism claims about itself, as numbers that accountants understand.
//
// Each mechanism states its claim when it is built (mechanism.h). The guarantee follows from it,
// and a clip is chosen by it. All numbers are public, and fixed before a private row is read: no
// private data passes through. Example: InvisibleInk with B = 7, tau = 1.2, C = 0.66 and T = 500
// claims 500 units of bounded range 2 C / (B tau) = 0.157, and that null adds nothing.
#ifndef CUTTLE_DP_CLAIM_H
#define CUTTLE_DP_CLAIM_H

#include <stdbool.h>
#include "dp/rdp.h"
#include "dp/status.h"

/* What a null place does in the mechanism. The claim compares a reference with it. */
enum dp_null {
	DP_NULL_IS_NOTHING, /* it adds exactly nothing */
	DP_NULL_IS_PUBLIC   /* it adds what the public row would add in its place */
};

/* What one batch costs at worst when one of its places becomes null.
 *
 * A unit is what is paid for: a token, drawn with a private row at hand. Free tokens are no units
 * and cost nothing. The claim says what one unit costs, after any past: exactly one of `eta` and
 * `event` says it, or none where nothing is promised. Units of one batch, and of several, are
 * composed adaptively.
 *
 *   eta > 0    a unit has bounded range eta: ln(P/P') over all its outcomes lies in an interval of
 *              this length (dp/exact.h). zCDP, the exact accountant and the ledger apply. Here
 *              event.count is 0.
 *   threshold > 0   a unit of range eta also has answers, which come before that outcome and are
 *              DP of so many nats together (dp/threshold.h). zCDP and the ledger apply, the exact
 *              accountant does not.
 *   eta == 0   a unit costs `event`, one step of a mechanism of dp/rdp.h, with event.count 1. An
 *              event of kind MIXTURE holds at orders up to event.order alone: no zCDP follows.
 *              With event.count 0, too, the mechanism promises nothing. */
struct dp_claim {
	enum dp_null null;
	uint32_t units;  /* paid units of a batch, at most; the mechanism refuses to draw more */
	long double eta; /* nats; long, so that what follows from it is rounded once; 0 = none */
	long double threshold;     /* nats; 0 = none */
	struct dp_rdp_event event; /* the cost of one unit, where eta is 0 */

	/* What is spent follows from private rows; the numbers above are the worst case. Then there
	 * is no guarantee before the run, and it is never charged. */
	bool data_dependent;
};

/* The accounts of a claim with eta > 0; another claim is a caller bug. */

/* rho of all units in zCDP: units (eta^2 / 8 + threshold^2 / 2), rounded up (Cesar & Rogers 2020,
 * Lemma 3.2; Bun & Steinke 2016, Proposition 1.4). */
double dp_claim_rho(const struct dp_claim *claim);

/* epsilon of that rho at delta, rounded up (dp/account.h). */
double dp_claim_epsilon(const struct dp_claim *claim, double delta);

/* epsilon at delta by exact composition, rounded up. DP_BAD_PARAMETER: beyond the limits of
 * dp/exact.h, or the claim has a threshold. DP_NO_MEMORY. */
enum dp_status dp_claim_exact(const struct dp_claim *claim, double delta, double *epsilon);

#endif
