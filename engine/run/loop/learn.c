// SPDX-License-Identifier: Apache-2.0
// learn.c: see cuttle/learn.h and learn.h.
// All texts stand behind one public prompt, whose keys and values are computed once. Texts run
// through the layers side by side, each in a seat of its own; rows that predict a token go through
// the head, some at a time (engine/forward/law.h).
// Example: a prompt of 205 tokens: 192 are shared, and each seat computes 13 of its own, once. A
// text of 40 tokens is 40 rows: the prompt's last token, once more, and all but its own last.
#include "engine/run/loop/learn.h"

#include "base/eigen.h"
#include "base/misuse.h"
#include "dp/invisibleink.h"
#include "dp/learn.h"
#include "engine/forward/law.h"
#include "engine/forward/forward.h"
#include "engine/run/plan/plan.h"
#include "engine/status.h"
#include "kernels/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CUTTLE_LEARN_SQUARE == (int)DP_LEARN_SQUARE &&
                   (int)CUTTLE_LEARN_RECORDS == (int)DP_LEARN_MOST_RECORDS,
               "the public header has dp's numbers");

enum {
	SEATS = 16,           /* texts side by side */
	SHARING = 16,         /* a prompt is shared by so many tokens */
	MOST_TOKENS = 256,    /* of a text */
	MOST_TEXTS = 1 << 16, /* public ones */
	ANSWER_PARTS = 16     /* of an answer, each with a share of its own */
};
_Static_assert((int)SEATS <= (int)LAW_ROWS, "a seat has a sum of laws");
#define RIDGE 0.1        /* of F's mean eigenvalue, added to each */
#define CLIP_FACTOR 0.85 /* of the median length of public vectors */
#define STEP 0.6         /* of the mean over records that are not clipped so */
#define NOISE_SIGMAS 3   /* by so many deviations of its own |x|^2 is more than noise */

struct cuttle_learner {
	const struct model *model;
	struct forward *forward;
	struct law *law;
	struct tokens prompt; /* the plan's; owned */
	struct prompt behind; /* what stands before a text: only `lead` is set */
	size_t shared;        /* tokens of the prompt that all seats share */
	size_t most;          /* tokens of a text */
	size_t padded;        /* vocabulary rounded up to 16 */
	size_t capacity;      /* places for the tokens of a text before it is cut */
	uint8_t *drawable;    /* [vocabulary] what a public text may be written with */
	uint8_t *counts;      /* [vocabulary] of these what is no end of a text or line */
	double *axes;         /* [width][width] A / clip */
	double clip, mean_tokens;
	int (*progress)(void *user, size_t texts);
	void *user;

	struct region region; /* all that follows */
	struct context prefix, seats[SEATS];
	struct row *rows;      /* [most_rows_of] */
	float *hidden;         /* [most_rows_of][width] */
	struct asked *asked;   /* [SEATS * most] the rows that predict */
	float *logits, *means; /* [LAW_ROWS][padded], [LAW_ROWS][width] */
	float *vector;         /* [width] */
	int32_t *ids;          /* [SEATS][capacity] */
	double *sums, *turned; /* [SEATS][width] g; [width] A g / clip */
};

/* A row whose output predicts a token that counts. */
struct asked {
	const float *hidden;
	size_t seat;
	int32_t token;
};

void cuttle_learn_params_default(struct cuttle_learn_params *params) {
	*params = (struct cuttle_learn_params){.texts = 160, .tokens = 40};
}

/* ---- texts to vectors ------------------------------------------------------------------------ */

/* Who gives texts as tokens, and takes vectors, in the order of the texts. */
struct reading {
	void *self;
	/* Writes the tokens of a text, and returns their number, at most `most`; 0 is null. */
	size_t (*give)(void *self, size_t index, int32_t *ids);
	/* Sees each law and its mean; NULL = nobody does. */
	void (*see)(void *self, const struct law *law, size_t row, const float *mean);
	void (*take)(void *self, const double *g);
};

/* Queues the rows of a text, and what they predict; returns the number of rows then. */
static size_t queue_text(struct cuttle_learner *l, size_t seat, size_t count, size_t rows,
                         size_t *asked) {
	const int32_t *ids = l->ids + seat * l->capacity;
	const size_t last = l->prompt.count - 1;
	for (size_t at = last; count && at < l->prompt.count + count - 1; at++, rows++) {
		const bool predicts = l->counts[ids[at - last]];
		float *hidden = predicts ? l->hidden + rows * l->model->width : NULL;
		l->rows[rows] =
		    (struct row){&l->seats[seat], at,
		                 at <= last ? l->prompt.ids[at] : ids[at - last - 1], hidden};
		if (predicts) l->asked[(*asked)++] = (struct asked){hidden, seat, ids[at - last]};
	}
	return rows;
}

/* Adds e_y of some rows to the vectors of their texts, and gathers what is to be taken off, in the
 * order of the rows. */
static void add_predictions(struct cuttle_learner *l, const struct asked *asked, size_t count,
                            const struct reading *reading) {
	const float *hidden[LAW_ROWS];
	size_t seats[LAW_ROWS];
	const size_t width = l->model->width;
	for (size_t row = 0; row < count; row++) {
		hidden[row] = asked[row].hidden;
		seats[row] = asked[row].seat;
	}
	forward_head(l->forward, hidden, count, NULL, l->padded / GEMM_GROUP, l->logits, l->padded);
	law_read(l->law, l->logits, l->padded, count);
	law_gather(l->law, seats);
	for (size_t row = 0; row < count; row++) {
		double *sum = l->sums + asked[row].seat * width;
		law_vector(l->law, asked[row].token, l->vector);
		for (size_t i = 0; i < width; i++) sum[i] += (double)l->vector[i];
	}
	if (!reading->see) return;
	law_means(l->law, l->means);
	for (size_t row = 0; row < count; row++)
		reading->see(reading->self, l->law, row, l->means + row * width);
}

/* Reads the next texts, at most SEATS. */
static void read_pass(struct cuttle_learner *l, size_t first, size_t count,
                      const struct reading *reading) {
	size_t rows = 0, asked = 0;
	memset(l->sums, 0, SEATS * l->model->width * sizeof *l->sums);
	for (size_t seat = 0; seat < count; seat++) {
		const size_t tokens =
		    reading->give(reading->self, first + seat, l->ids + seat * l->capacity);
		rows = queue_text(l, seat, tokens, rows, &asked);
	}
	// OpenBLAS would round a row by the rows beside it.
	if (rows) forward_rows(l->forward, l->rows, rows, false);
	for (size_t done = 0; done < asked; done += LAW_ROWS)
		add_predictions(l, l->asked + done,
		                asked - done < LAW_ROWS ? asked - done : LAW_ROWS, reading);
	law_gathered(l->law, count, l->means);
	for (size_t i = 0; i < count * l->model->width; i++) l->sums[i] -= (double)l->means[i];
	for (size_t seat = 0; seat < count; seat++)
		reading->take(reading->self, l->sums + seat * l->model->width);
}

/* Tells how many texts were read. False: stop. */
static bool tell_progress(const struct cuttle_learner *l, size_t texts) {
	return !l->progress || !l->progress(l->user, texts);
}

/* False: told to stop. */
static bool read_vectors_of(struct cuttle_learner *l, size_t count, const struct reading *reading) {
	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < SEATS ? count - done : SEATS;
		read_pass(l, done, some, reading);
		if (!tell_progress(l, some)) return false;
	}
	return true;
}

static enum cuttle_status fail_unread(struct cuttle_error *error) {
	return status_fail(error, CUTTLE_PARTIAL, "stopped before all texts were read");
}

/* ---- the public part ------------------------------------------------------------------------- */

struct public_texts {
	struct cuttle_learner *learner;
	size_t count;
	int32_t *ids;    /* [count][most] */
	size_t *tokens;  /* [count] of each */
	double *laws;    /* [vocabulary] the sum of all p */
	double *means;   /* [count * most][width] each m; later less their mean */
	double *vectors; /* [count][width] each g */
	size_t rows;     /* how many m there are */
	size_t taken;    /* how many g there are */
	double *moments; /* [width][width] F */
	double *center;  /* [width] mean of all m */
};

/* An even number in 0 .. 1, for a token of a public text. The seed is public, and always the same:
 * so are the texts. */
static double draw_even(size_t text, size_t step) {
	struct seeded seeded = {.heading = SEEDED_PUBLIC, .text = text, .step = step};
	const struct dp_random random = seeded_random(&seeded);
	uint64_t bits = 0;
	REQUIRE(random.fill(random.user, &bits, sizeof bits) == DP_OK);
	return ldexp((double)(bits >> 11), -53);
}

/* Draws the next token of each text that goes on; a text ends before one that does not count.
 * False: a logit is not finite. */
static bool draw_tokens(struct public_texts *t, size_t first, size_t step, const size_t *seats,
                        size_t count, bool *ended) {
	struct cuttle_learner *l = t->learner;
	const float *hidden[SEATS];
	for (size_t row = 0; row < count; row++) hidden[row] = l->hidden + row * l->model->width;
	forward_head(l->forward, hidden, count, NULL, l->padded / GEMM_GROUP, l->logits, l->padded);
	for (size_t row = 0; row < count; row++) {
		const size_t text = first + seats[row];
		// No text is empty: of a form that the model leaves blank nothing would be learnt.
		const int32_t token =
		    law_pick(l->logits + row * l->padded, step ? l->drawable : l->counts,
		             l->model->vocab_size, draw_even(text, step));
		if (token < 0) return false;
		ended[seats[row]] = !l->counts[token];
		if (l->counts[token]) t->ids[text * l->most + t->tokens[text]++] = token;
	}
	return true;
}

/* Writes the next texts, at most SEATS, a token of each at a time. */
static bool write_pass(struct public_texts *t, size_t first, size_t count) {
	struct cuttle_learner *l = t->learner;
	bool ended[SEATS] = {false}, finite = true;
	for (size_t step = 0; finite && step < l->most; step++) {
		size_t seats[SEATS], going = 0;
		const size_t at = l->prompt.count + step - 1;
		for (size_t seat = 0; seat < count; seat++) {
			if (ended[seat]) continue;
			l->rows[going] = (struct row){
			    &l->seats[seat], at,
			    step ? t->ids[(first + seat) * l->most + step - 1] : l->prompt.ids[at],
			    l->hidden + going * l->model->width};
			seats[going++] = seat;
		}
		if (!going) break;
		forward_rows(l->forward, l->rows, going, false);
		finite = draw_tokens(t, first, step, seats, going, ended);
	}
	return finite;
}

static size_t give_public_text(void *self, size_t index, int32_t *ids) {
	const struct public_texts *t = self;
	const size_t most = t->learner->most;
	memcpy(ids, t->ids + index * most, t->tokens[index] * sizeof *ids);
	return t->tokens[index];
}

static void see_public_law(void *self, const struct law *law, size_t row, const float *mean) {
	struct public_texts *t = self;
	const size_t width = t->learner->model->width;
	law_add(law, row, t->laws);
	for (size_t i = 0; i < width; i++) {
		t->means[t->rows * width + i] = (double)mean[i];
		t->center[i] += (double)mean[i];
	}
	t->rows++;
}

static void take_public_vector(void *self, const double *g) {
	struct public_texts *t = self;
	const size_t width = t->learner->model->width;
	memcpy(t->vectors + t->taken++ * width, g, width * sizeof *g);
}

/* Row i of F, up to its diagonal: what was there, less the products of all m, over their number. */
static void finish_moments(void *context, size_t i, unsigned worker) {
	struct public_texts *t = context;
	const size_t width = t->learner->model->width;
	double *row = t->moments + i * width;
	(void)worker;
	for (size_t m = 0; m < t->rows; m++) {
		const double *mean = t->means + m * width;
		for (size_t j = 0; j <= i; j++) row[j] -= mean[i] * mean[j];
	}
	for (size_t j = 0; j <= i; j++) row[j] /= (double)t->rows;
}

/* Sets F. With c the mean of all m, the sum of p_t(y) (e_y - c)(e_y - c)' - (m_t - c)(m_t - c)' is
 * that of e_y and m_t, and loses fewer digits. */
static bool measure_moments(struct public_texts *t) {
	const struct model *m = t->learner->model;
	const size_t width = m->width;
	float *products = calloc(width * width, sizeof *products);
	if (!products) return false;
	for (size_t i = 0; i < width; i++) t->center[i] /= (double)t->rows;
	law_moments(t->learner->law, t->laws, t->center, products);
	for (size_t i = 0; i < width * width; i++) t->moments[i] = (double)products[i];
	free(products);
	for (size_t row = 0; row < t->rows; row++)
		for (size_t i = 0; i < width; i++) t->means[row * width + i] -= t->center[i];
	threads_run(m->threads, width, finish_moments, t);
	for (size_t i = 0; i < width; i++)
		for (size_t j = 0; j < i; j++)
			t->moments[j * width + i] = t->moments[i * width + j];
	return true;
}

/* turned = axes g */
static void turn_vector(const struct cuttle_learner *l, const double *g, double *turned) {
	const size_t width = l->model->width;
	for (size_t k = 0; k < width; k++) {
		double sum = 0.0;
		for (size_t i = 0; i < width; i++) sum += l->axes[k * width + i] * g[i];
		turned[k] = sum;
	}
}

/* The largest eigenvalue first, with its row of vectors. */
static void order_axes(size_t width, double *values, double *vectors) {
	for (size_t k = 0; k < width; k++) {
		size_t most = k;
		for (size_t i = k + 1; i < width; i++)
			if (values[i] > values[most]) most = i;
		const double value = values[k];
		values[k] = values[most];
		values[most] = value;
		for (size_t i = 0; most != k && i < width; i++) {
			const double number = vectors[k * width + i];
			vectors[k * width + i] = vectors[most * width + i];
			vectors[most * width + i] = number;
		}
	}
}

/* Makes A of F, whose memory it uses. */
static enum cuttle_status set_axes(struct public_texts *t, struct cuttle_error *error) {
	struct cuttle_learner *l = t->learner;
	const size_t width = l->model->width;
	double trace = 0.0;
	for (size_t i = 0; i < width; i++) trace += t->moments[i * width + i];
	double *scratch = calloc(width + eigen_scratch(width), sizeof *scratch);
	if (!scratch) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool found = isfinite(trace) && trace > 0.0 &&
	                   eigen_symmetric(width, t->moments, scratch, l->axes, scratch + width);
	if (found) order_axes(width, scratch, l->axes);
	for (size_t k = 0; found && k < width; k++) {
		const double root = sqrt(fmax(scratch[k], 0.0) + RIDGE * trace / (double)width);
		for (size_t i = 0; i < width; i++) l->axes[k * width + i] /= root;
	}
	free(scratch);
	return found ? CUTTLE_OK
	             : status_fail(error, CUTTLE_MODEL, "the model's laws are not finite");
}

static int compare_lengths(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sets the clip by the lengths of the public vectors, and A to its units. */
static enum cuttle_status set_clip(struct public_texts *t, struct cuttle_error *error) {
	struct cuttle_learner *l = t->learner;
	const size_t width = l->model->width;
	double *lengths = calloc(t->count, sizeof *lengths);
	if (!lengths) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t text = 0; text < t->count; text++) {
		turn_vector(l, t->vectors + text * width, l->turned);
		for (size_t k = 0; k < width; k++) lengths[text] += l->turned[k] * l->turned[k];
	}
	qsort(lengths, t->count, sizeof *lengths, compare_lengths);
	l->clip = CLIP_FACTOR * sqrt(lengths[t->count / 2]);
	free(lengths);
	if (!isnormal(l->clip))
		return status_fail(error, CUTTLE_MODEL, "the model's laws are not finite");
	for (size_t i = 0; i < width * width; i++) l->axes[i] /= l->clip;
	return CUTTLE_OK;
}

static enum cuttle_status measure_public_texts(struct public_texts *t, struct cuttle_error *error) {
	struct cuttle_learner *l = t->learner;
	const struct reading reading = {t, give_public_text, see_public_law, take_public_vector};
	size_t tokens = 0;
	for (size_t done = 0; done < t->count; done += SEATS) {
		if (!write_pass(t, done, t->count - done < SEATS ? t->count - done : SEATS))
			return status_fail(error, CUTTLE_MODEL,
			                   "the model's logits are not finite");
		if (!tell_progress(l, 0)) return fail_unread(error);
	}
	for (size_t text = 0; text < t->count; text++) tokens += t->tokens[text];
	if (!tokens)
		return status_fail(error, CUTTLE_MODEL,
		                   "the model writes nothing behind the public prompt");
	l->mean_tokens = (double)tokens / (double)t->count;
	if (!read_vectors_of(l, t->count, &reading)) return fail_unread(error);
	if (!measure_moments(t)) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = set_axes(t, error);
	return status ? status : set_clip(t, error);
}

static enum cuttle_status learn_public_part(struct cuttle_learner *l, size_t count,
                                            struct cuttle_error *error) {
	const size_t width = l->model->width;
	struct public_texts t = {.learner = l,
	                         .count = count,
	                         .ids = calloc(count * l->most, sizeof *t.ids),
	                         .tokens = calloc(count, sizeof *t.tokens),
	                         .laws = calloc(l->model->vocab_size, sizeof *t.laws),
	                         .means = calloc(count * l->most * width, sizeof *t.means),
	                         .vectors = calloc(count * width, sizeof *t.vectors),
	                         .moments = calloc(width * width, sizeof *t.moments),
	                         .center = calloc(width, sizeof *t.center)};
	const bool made =
	    t.ids && t.tokens && t.laws && t.means && t.vectors && t.moments && t.center;
	const enum cuttle_status status =
	    made ? measure_public_texts(&t, error)
	         : status_fail(error, CUTTLE_NOMEM, "out of memory for %zu public texts", count);
	free(t.ids);
	free(t.tokens);
	free(t.laws);
	free(t.means);
	free(t.vectors);
	free(t.moments);
	free(t.center);
	return status;
}

/* ---- a learner ------------------------------------------------------------------------------- */

/* Which tokens may be drawn, and which of these count. */
static bool choose_tokens(struct cuttle_learner *l) {
	const struct vocab *vocab = l->model->vocab;
	l->drawable = plan_allowed_tokens(l->model);
	l->counts = calloc(l->model->vocab_size, 1);
	for (size_t y = 0; l->drawable && l->counts && y < l->model->vocab_size; y++) {
		const int32_t token = (int32_t)y;
		char text[256];
		size_t size = 0;
		vocab_detokenize(vocab, &token, 1, false, text, sizeof text, &size);
		const size_t kept = size < sizeof text ? size : sizeof text;
		l->counts[y] =
		    l->drawable[y] && !vocab_ends_text(vocab, token) && !memchr(text, '\n', kept);
	}
	return l->drawable && l->counts;
}

/* Rows of a pass: a text of each seat, or what a seat does not share of the prompt. */
static size_t most_rows_of(const struct cuttle_learner *l) {
	const size_t own = l->prompt.count - l->shared;
	return SEATS * (own > l->most ? own : l->most);
}

/* Called twice, as lay_out_embedding in embed.c. */
static bool lay_out_learner(struct cuttle_learner *l, struct region *region, size_t *total) {
	const size_t width = l->model->width, rows = most_rows_of(l),
	             own = kv_capacity(l->prompt.count - l->shared + l->most),
	             shared = kv_capacity(l->shared + 1);
	size_t own_bytes, shared_bytes;
	if (!kv_bytes(l->model, own, &own_bytes) || !kv_bytes(l->model, shared, &shared_bytes))
		return false;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {{(void **)&l->rows, rows, sizeof *l->rows},
	             {(void **)&l->hidden, rows, width * sizeof *l->hidden},
	             {(void **)&l->asked, SEATS * l->most, sizeof *l->asked},
	             {(void **)&l->logits, LAW_ROWS, l->padded * sizeof *l->logits},
	             {(void **)&l->means, LAW_ROWS, width * sizeof *l->means},
	             {(void **)&l->vector, width, sizeof *l->vector},
	             {(void **)&l->ids, SEATS, l->capacity * sizeof *l->ids},
	             {(void **)&l->sums, SEATS, width * sizeof *l->sums},
	             {(void **)&l->turned, width, sizeof *l->turned},
	             {(void **)&l->prefix.own.data, 1, shared_bytes}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	l->prefix.own.capacity = shared;
	if (!region) return region_add(total, SEATS, (own_bytes + 63) / 64 * 64);
	for (size_t seat = 0; seat < SEATS; seat++)
		l->seats[seat] = (struct context){l->shared ? &l->prefix : NULL,
		                                  l->shared,
		                                  {region_carve(region, own_bytes), own}};
	return true;
}

/* Computes what all seats share, and the rest of the prompt in each seat: no text changes it. */
static void share_prompt(struct cuttle_learner *l) {
	const size_t most = most_rows_of(l);
	for (size_t done = 0; done < l->shared;) {
		const size_t some = l->shared - done < most ? l->shared - done : most;
		for (size_t i = 0; i < some; i++)
			l->rows[i] =
			    (struct row){&l->prefix, done + i, l->prompt.ids[done + i], NULL};
		forward_rows(l->forward, l->rows, some, false);
		done += some;
	}
	size_t rows = 0;
	for (size_t seat = 0; seat < SEATS; seat++)
		for (size_t at = l->shared; at < l->prompt.count; at++)
			l->rows[rows++] =
			    (struct row){&l->seats[seat], at, l->prompt.ids[at], NULL};
	forward_rows(l->forward, l->rows, rows, false);
}

static enum cuttle_status open_learner(struct cuttle_learner *l, struct cuttle_error *error) {
	const struct model *m = l->model;
	size_t total = 0;
	enum cuttle_status status = CUTTLE_OK;
	l->axes = calloc(m->width * m->width, sizeof *l->axes);
	if (!l->axes || !choose_tokens(l) || !lay_out_learner(l, NULL, &total) ||
	    !region_map(&l->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (m->lock) status = region_lock(&l->region, error);
	if (!status) lay_out_learner(l, &l->region, NULL);
	if (!status)
		status = forward_new(m, most_rows_of(l), LAW_ROWS, l->prompt.count + l->most,
		                     &l->forward, error);
	if (!status) status = law_new(m, l->counts, &l->law, error);
	if (!status) share_prompt(l);
	return status;
}

enum cuttle_status cuttle_learner_make(const struct cuttle_plan *plan,
                                       const struct cuttle_learn_params *params,
                                       struct cuttle_learner **out, struct cuttle_error *error) {
	REQUIRE(plan && params && out);
	const struct model *m = plan->model;
	const struct tokens *prompt = &plan->prompts[0].whole;
	*out = NULL;
	if (params->tokens < 1 || params->tokens > MOST_TOKENS || params->texts < 1 ||
	    params->texts > MOST_TEXTS)
		return status_fail(error, CUTTLE_USAGE,
		                   "a bias takes 1 to %d public texts, and 1 to %d tokens of each",
		                   MOST_TEXTS, MOST_TOKENS);
	if (prompt->count + params->tokens > m->context)
		return status_fail(error, CUTTLE_USAGE,
		                   "prompt (%zu tokens) and text (%u) exceed a context of %zu",
		                   prompt->count, params->tokens, m->context);
	struct cuttle_learner *l = *out = calloc(1, sizeof *l);
	int32_t *ids = calloc(prompt->count, sizeof *ids);
	enum cuttle_status status =
	    l && ids ? CUTTLE_OK : status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		memcpy(ids, prompt->ids, prompt->count * sizeof *ids);
		*l = (struct cuttle_learner){
		    .model = m,
		    .prompt = {ids, prompt->count},
		    .behind.lead = vocab_lead_after(m->vocab, ids[prompt->count - 1]),
		    .shared = plan->share ? (prompt->count - 1) / SHARING * SHARING : 0,
		    .most = params->tokens,
		    .progress = params->progress,
		    .user = params->user,
		    .padded = (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP * GEMM_GROUP,
		    .capacity = prompt_reference_capacity(params->tokens)};
		status = open_learner(l, error);
	} else {
		free(ids);
	}
	if (!status) status = learn_public_part(l, params->texts, error);
	if (status) cuttle_learner_free(out);
	return status;
}

void cuttle_learner_free(struct cuttle_learner **learner) {
	struct cuttle_learner *l = learner ? *learner : NULL;
	if (!l) return;
	law_free(&l->law);
	forward_free(&l->forward);
	region_unmap(&l->region, true);
	free((void *)(uintptr_t)l->prompt.ids);
	free(l->drawable);
	free(l->counts);
	free(l->axes);
	free(l);
	*learner = NULL;
}

struct cuttle_learner_info cuttle_learner_describe(const struct cuttle_learner *learner) {
	return (struct cuttle_learner_info){.width = learner->model->width,
	                                    .mean_tokens = learner->mean_tokens,
	                                    .clip = learner->clip};
}

/* ---- the private part ------------------------------------------------------------------------ */

struct private_texts {
	struct cuttle_learner *learner;
	void (*reference)(void *user, size_t index, const char **text, size_t *size);
	void *user;
	void (*take)(void *self, const double *u);
	void *self;
};

static size_t give_private_text(void *self, size_t index, int32_t *ids) {
	const struct private_texts *of = self;
	const struct cuttle_learner *l = of->learner;
	const char *text = NULL;
	size_t size = 0;
	of->reference(of->user, index, &text, &size);
	return prompt_reference(l->model, &l->behind, text, size, l->most, ids);
}

static void take_private_vector(void *self, const double *g) {
	const struct private_texts *of = self;
	turn_vector(of->learner, g, of->learner->turned);
	of->take(of->self, of->learner->turned);
}

bool learner_read(struct cuttle_learner *learner, size_t count,
                  void (*reference)(void *user, size_t index, const char **text, size_t *size),
                  void *user, void (*take)(void *self, const double *u), void *self) {
	struct private_texts of = {learner, reference, user, take, self};
	const struct reading reading = {
	    .self = &of, .give = give_private_text, .take = take_private_vector};
	return read_vectors_of(learner, count, &reading);
}

/* Vectors on their way to the answer: those of one owner are one record there. */
struct adding {
	struct dp_learn *learn;
	size_t width;
	size_t index; /* of the next vector */
	bool (*ends)(void *user, size_t index);
	void *user;
	double *sum; /* [width] of the owner's vectors so far; not used where ends is NULL */
};

static void add_record(void *self, const double *u) {
	struct adding *a = self;
	if (!a->ends) {
		dp_learn_add(a->learn, u);
		return;
	}
	for (size_t i = 0; i < a->width; i++) a->sum[i] += u[i];
	if (!a->ends(a->user, a->index++)) return;
	dp_learn_add(a->learn, a->sum);
	memset(a->sum, 0, a->width * sizeof *a->sum);
}

enum cuttle_status cuttle_learner_read(struct cuttle_learner *learner, size_t records,
                                       void (*reference)(void *user, size_t index,
                                                         const char **text, size_t *size),
                                       bool (*ends)(void *user, size_t index), void *user,
                                       const struct cuttle_query *query, const uint64_t *seed,
                                       int64_t *answer, struct cuttle_error *error) {
	REQUIRE(learner && reference && query && answer);
	REQUIRE(query->square == DP_LEARN_SQUARE && query->times == 1);
	struct adding adding = {.width = learner->model->width, .ends = ends, .user = user};
	struct seeded seeded = {.seed = seed ? *seed : 0, .heading = SEEDED_LEARNT};
	const struct dp_random random = seed ? seeded_random(&seeded) : dp_random_system();
	if (records > DP_LEARN_MOST_RECORDS)
		return status_fail(error, CUTTLE_USAGE, "a bias reads at most %d records",
		                   DP_LEARN_MOST_RECORDS);
	if (!(adding.sum = calloc(adding.width, sizeof *adding.sum)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = plan_status(
	    dp_learn_begin(adding.width, records, (struct dp_variance){query->num, query->den},
	                   &random, &adding.learn),
	    error);
	if (!status) {
		if (!learner_read(learner, records, reference, user, add_record, &adding))
			status = fail_unread(error);
		dp_learn_end(&adding.learn, answer);
		if (status) explicit_bzero(answer, adding.width * sizeof *answer);
		explicit_bzero(adding.sum, adding.width * sizeof *adding.sum);
	}
	free(adding.sum);
	return status;
}

/* ---- what follows from the answer ------------------------------------------------------------ */

double cuttle_learn_least_share(size_t width) {
	const double most = NOISE_SIGMAS * sqrt(2.0 / (double)width);
	return most / (1.0 + most);
}

/* Sets shares[ANSWER_PARTS], and returns the length of the answer once each part has its share. */
static double share_parts(const int64_t *answer, size_t width, size_t records,
                          struct dp_variance variance, double *shares) {
	double square = 0.0;
	for (size_t part = 0; part < ANSWER_PARTS; part++) {
		const size_t begin = part * width / ANSWER_PARTS,
		             end = (part + 1) * width / ANSWER_PARTS;
		shares[part] =
		    dp_learn_share(answer + begin, end - begin, width, records, variance);
		for (size_t k = begin; k < end; k++) {
			const double number = shares[part] * (double)answer[k];
			square += number * number;
		}
	}
	return sqrt(square);
}

double cuttle_learner_bias(const struct cuttle_learner *learner, const int64_t *answer,
                           size_t records, const struct cuttle_query *query, double *bias) {
	REQUIRE(learner && answer && query && bias);
	const size_t width = learner->model->width;
	const struct dp_variance variance = {query->num, query->den};
	const double whole = dp_learn_share(answer, width, width, records, variance),
	             most = DP_LEARN_CLIP * (double)records;
	double shares[ANSWER_PARTS];
	for (size_t i = 0; i < width; i++) bias[i] = 0.0;
	if (!records || whole < cuttle_learn_least_share(width)) return 0.0;
	const double length = share_parts(answer, width, records, variance, shares),
	             mean = learner->clip * learner->clip /
	                    (DP_LEARN_CLIP * (double)records * learner->mean_tokens),
	             step = STEP / CLIP_FACTOR * mean * fmin(1.0, most / length);
	for (size_t part = 0; part < ANSWER_PARTS; part++)
		for (size_t k = part * width / ANSWER_PARTS; k < (part + 1) * width / ANSWER_PARTS;
		     k++)
			for (size_t i = 0; i < width; i++)
				bias[i] += step * shares[part] * (double)answer[k] *
				           learner->axes[k * width + i];
	return whole;
}

/* Tokens to their shifts, some by each worker. */
struct shifting {
	const struct model *model;
	const double *bias;
	unsigned fraction_bits;
	int32_t *shift; /* [vocabulary] */
	float *vectors; /* [threads][width] */
};

enum { SHIFTED_AT_ONCE = 512 /* tokens */ };

static void shift_tokens(void *context, size_t part, unsigned worker) {
	const struct shifting *s = context;
	const struct model *m = s->model;
	float *const e = s->vectors + worker * m->width;
	for (size_t y = part * SHIFTED_AT_ONCE;
	     y < (part + 1) * SHIFTED_AT_ONCE && y < m->vocab_size; y++) {
		double sum = 0.0;
		pack_row(&m->head, y, e);
		for (size_t i = 0; i < m->width; i++) sum += (double)e[i] * s->bias[i];
		const double most = DP_MOST_SHIFT;
		s->shift[y] =
		    (int32_t)rint(fmax(-most, fmin(most, ldexp(sum, (int)s->fraction_bits))));
	}
}

enum cuttle_status learner_shift(const struct model *model, const double *bias,
                                 unsigned fraction_bits, int32_t *shift,
                                 struct cuttle_error *error) {
	for (size_t i = 0; i < model->width; i++)
		if (!isfinite(bias[i]))
			return status_fail(error, CUTTLE_USAGE,
			                   "a number of the bias is not finite");
	struct shifting s = {
	    .model = model,
	    .bias = bias,
	    .fraction_bits = fraction_bits,
	    .shift = shift,
	    .vectors = calloc(threads_count(model->threads) * model->width, sizeof *s.vectors)};
	if (!s.vectors) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	threads_run(model->threads, (model->vocab_size + SHIFTED_AT_ONCE - 1) / SHIFTED_AT_ONCE,
	            shift_tokens, &s);
	free(s.vectors);
	return CUTTLE_OK;
}

enum cuttle_status learner_shift_make(const struct model *model, const double *bias,
                                      unsigned fraction_bits, int32_t **shift,
                                      struct cuttle_error *error) {
	*shift = bias ? calloc(model->vocab_size, sizeof **shift) : NULL;
	if (!bias) return CUTTLE_OK;
	const enum cuttle_status status =
	    *shift ? learner_shift(model, bias, fraction_bits, *shift, error)
	           : status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) return CUTTLE_OK;
	free(*shift);
	*shift = NULL;
	return status;
}

enum cuttle_status cuttle_bias_use(struct cuttle_plan *plan, const double *bias,
                                   struct cuttle_error *error) {
	REQUIRE(plan && bias);
	const struct model *m = plan->model;
	if (!plan->traced)
		return status_fail(error, CUTTLE_USAGE, "a bias is for InvisibleInk alone");
	int32_t *shift;
	enum cuttle_status status =
	    learner_shift_make(m, bias, plan->guarantee.fraction_bits, &shift, error);
	if (!status) status = plan_status(dp_invisibleink_shift(plan->traced, shift), error);
	free(shift);
	return status;
}
