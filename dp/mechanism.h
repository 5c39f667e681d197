// SPDX-License-Identifier: Apache-2.0
// mechanism.h: what the generation loop asks of a mechanism, as a table of functions.
//
// A mechanism joins private rows of logits to a public one and draws one token. It is built by a
// function of its own, such as dp_invisibleink_mechanism; what is told there (temperature,
// candidates, T) the loop never learns.
// Private data: row() takes it in, draw() lets one token out. Nothing else comes out: statuses,
// the number of tokens wanted and the fate of a token are functions of public things.
// How: one mechanism serves all batches in flight, one step at a time. A step is
//
//   turn(batch)                                which batch, where the mechanism asks for it
//   begin(places, spent)                       what the batch has and what it has drawn so far
//   allow(tokens)                              which tokens exist in this step, if not all do
//   open(public row, may_be_free) -> wanted    which logits of which private rows it needs
//   row(place, logits)                         for each such row that is not null; in any order
//   draw() -> token, fate                      ends the step
//
// Example: of 7 places 2 are null. InvisibleInk wants 103 tokens of every place, so row comes 5
// times. DP-Fusion wants them of one place; where that one is null, row comes never.
// Rules for the caller, on which every proof stands: a row's logits are a function of that row's
// own tokens alone, bit for bit. A batch's tokens are drawn once: a resumed batch goes on, it never
// draws a token again. Functions out of order, or a row not wanted, are caller bugs.
#ifndef CUTTLE_DP_MECHANISM_H
#define CUTTLE_DP_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/claim.h"
#include "dp/status.h"

/* How a token was drawn. It may be told: either both worlds agree on it, given the past, or it is
 * an answer of the mechanism that the claim pays for (dp/amin.h). */
enum dp_fate {
	DP_PAID, /* with private rows: one unit of the claim is spent */
	DP_FREE  /* from the public row alone: no private number went into it */
};

#define DP_EVERY_PLACE UINT32_MAX
#define DP_MECHANISM_SLOTS 256 /* batches in flight, at most */

/* What a step needs of the private rows. */
struct dp_wanted {
	/* [count] token numbers, ascending; the logits of a row come in this order. They belong to
	 * the mechanism and are valid until the step's draw. They are a function of the public row
	 * and the parameters alone. */
	const uint32_t *tokens;

	/* 0 = no private row is wanted: the token will be free, and draw comes next. This is
	 * public: with the same past, both worlds open alike. */
	size_t count;

	/* The one place whose row is wanted, or DP_EVERY_PLACE. A single place may have been drawn
	 * at random and be a SECRET of the step (DP-Fusion): the caller computes that row, and
	 * neither keeps nor tells the number. */
	uint32_t place;
};

struct dp_mechanism {
	struct dp_claim claim; /* of one batch; the loop does not read it */
	void *self;            /* first argument of every function below */

	/* NULL, or of a mechanism that keeps a secret of each batch from step to step, as Amin
	 * keeps a threshold: called before `begin`. `slot` says which of the batches in flight has
	 * its turn, 0 .. DP_MECHANISM_SLOTS - 1. `fresh`: it has drawn nothing in this slot so far,
	 * be it new or resumed; what the slot held before is another batch's, and is wiped. */
	void (*turn)(void *self, uint32_t slot, bool fresh);

	/* Called before each step, since several batches take turns. The batch has `places` places,
	 * null ones counted: a public number, at most what the mechanism was built for. `spent`
	 * units of it have been paid, by this process or by an earlier one; only paid tokens count.
	 * A step that was opened and not drawn is dropped. */
	void (*begin)(void *self, uint32_t places, uint32_t spent);

	/* NULL, or called before `open`, for that step alone: it draws one of the tokens with
	 * allowed[y] nonzero, and candidates are found among them. [vocabulary], at least one
	 * token, none that the parameters exclude; `open` reads it. It must be a
	 * function of tokens drawn and of public things (dp/PRIVACY.md, step 57). */
	void (*allow)(void *self, const uint8_t *allowed);

	/* Opens a step. public_row[vocabulary] stays the caller's and is not read after this call.
	 * may_be_free: the batch has a free token left, a public condition. Only then may the
	 * mechanism decide for a free token, and it must once all units are paid. Its decision is a
	 * function of the public row, `spent`, `places` and the parameters. A unit is paid before
	 * its token is drawn: from open on, were the draw to fail.
	 * DP_SPENT: all units are paid and may_be_free is false; this is checked first.
	 * DP_PUBLIC_NOT_FINITE: a public logit is NaN or infinite. No step is open; the batch may
	 * go on with another public row. DP_NO_ENTROPY: the random source failed, now or earlier;
	 * nothing is ever drawn again. On failure wanted->count is 0. */
	enum dp_status (*open)(void *self, const float *public_row, bool may_be_free,
	                       struct dp_wanted *wanted);

	/* Takes the wanted logits[wanted.count] of one place's row, at most once a step and place,
	 * with place < places. A place whose row never comes is null. A row with a NaN or an
	 * infinity counts as null too, and nothing tells so. */
	void (*row)(void *self, uint32_t place, const float *logits);

	/* Draws the step's token and ends the step. DP_NO_ENTROPY: neither *token nor *fate is
	 * written, and nothing is ever drawn again. */
	enum dp_status (*draw)(void *self, uint32_t *token, enum dp_fate *fate);

	/* Wipes what is private and frees self. */
	void (*free)(void *self);

	/* The rest is PRIVATE and for audits alone, which test what is claimed
	 * (engine/run/loop/worlds.c). */

	/* ln_w[wanted.count] become the natural logarithms of the weights that the wanted tokens
	 * would be drawn by if paid, with the rows given so far, but for one constant. Called once,
	 * after the step's rows, in place of its draw. NULL = they have no closed form. */
	void (*law)(void *self, double *ln_w);

	/* NULL, or of a mechanism whose open draws something, or whose law follows from earlier
	 * steps. Then a step whose law is asked for is opened by this: it wants the rows of every
	 * place, and spends nothing. `past` is the caller's, past_size bytes for each batch and
	 * world, zeros at first. NULL: no law will be asked for, and another step begins. */
	enum dp_status (*retrace)(void *self, void *past, const float *public_row, bool may_be_free,
	                          struct dp_wanted *wanted);
	size_t past_size;

	/* NULL, or where it follows from private rows whether a token is paid: called after law;
	 * ln_chance[fate] becomes the logarithm of the chance of that fate, given the past. */
	void (*answers)(const void *self, double ln_chance[2]);

	/* NULL, or called after law: the step ended so, and its past will hold it. */
	void (*passed)(void *self, enum dp_fate fate);
};

#endif
