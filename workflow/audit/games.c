// SPDX-License-Identifier: Apache-2.0
// One job of the engine plays all games: text number g is game g. Games that an earlier run played
// are given to it as texts that have ended. So it draws the others as if nothing had stopped.
#include "workflow/audit/games.h"

#include "base/misuse.h"
#include "engine/cuttle/guarantee.h"
#include "engine/cuttle/job.h"
#include "engine/cuttle/model.h"
#include "engine/cuttle/rewrite.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "measure/attacks.h"
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

const double game_shares[GAME_MINK] = {.05, .1, .2, .3, .4};

struct game_state {
	const struct game_request *request;
	struct trials *trials;
	struct cuttle_attacker *attacker; /* NULL where no score needs it */
	size_t places;                    /* of a text: its references */
	uint32_t rows;                    /* of a text */
	size_t first;                     /* games that are played already */
	int32_t eos;
	double *scores;             /* [games] of GAME_ODDS; largest losses of GAME_RANGES */
	double *answers;            /* [games] of GAME_RANGES, the farthest from 0 */
	double *steps;              /* [games] of GAME_RANGES */
	char shown[CANARIES_SHOWN]; /* the canary that was given last */
	double *logprobs;           /* [context] */
	double *guesses;            /* [GAME_RANKS][secrets] */
	int32_t *forced;            /* [forced_room] tokens of the text forced_text */
	size_t forced_text, forced_count, forced_room;
	enum cuttle_status status; /* of a callback that failed; its message is in *error */
	struct cuttle_error *error;
	struct cuttle_error kept;
};

size_t games_values(enum game_kind kind) {
	static const size_t values[] = {
	    [GAME_WORLDS] = 2, [GAME_LOTS] = 2, [GAME_SECRETS] = 1 + GAME_RANKS, [GAME_RANGES] = 3};
	return values[kind];
}

/* Whether game number g is played without the canary. */
static bool is_without(const struct game_request *r, size_t game) {
	if (r->kind == GAME_WORLDS) return game % 2 != 0;
	return r->kind == GAME_LOTS && chance_below(r->chance, CHANCE_LOT, game, 0, 2) != 0;
}

/* Both games of a pair have one canary and the same other references. */
static size_t find_pair(const struct game_request *r, size_t game) {
	return r->kind == GAME_WORLDS ? game / 2 : game;
}

static uint64_t draw_secret(const struct game_request *r, size_t game) {
	return r->kind == GAME_SECRETS ? chance_below(r->chance, CHANCE_SECRET, game, 0, r->secrets)
	                               : 0;
}

static size_t write_canary(const struct game_request *r, size_t game, uint64_t secret,
                           char text[CANARIES_SHOWN]) {
	return canaries_write(r->canaries, find_pair(r, game), secret,
	                      r->kind == GAME_SECRETS ? r->secrets : 0, text);
}

static void give_other(const struct game_request *r, size_t number, const char **text,
                       size_t *size) {
	*text = NULL;
	*size = 0;
	if (!r->others || !records_count(r->others)) return;
	*text = records_text(r->others, number % records_count(r->others), size);
}

static void give_game_reference(void *user, size_t index, const char **text, size_t *size) {
	struct game_state *s = user;
	const struct game_request *r = s->request;
	const size_t game = index / s->places, place = index % s->places, last = s->places - 1;
	if (r->kind == GAME_RANGES) {
		give_other(r, index, text, size);
	} else if (place < last) {
		give_other(r, find_pair(r, game) * last + place, text, size);
	} else if (is_without(r, game) && r->score == GAME_LOSS) {
		*text = NULL;
		*size = 0;
	} else {
		*size = write_canary(r, game, draw_secret(r, game), s->shown);
		*text = s->shown;
	}
}

static uint32_t give_game_groups(void *user, size_t game) {
	(void)user;
	(void)game;
	return 1;
}

/* A canary as a document, whose secret is its only mark. */
static void give_game_context(void *user, size_t game, uint32_t group, const char **text,
                              size_t *size) {
	struct game_state *s = user;
	const struct game_request *r = s->request;
	*size = group == CUTTLE_NO_GROUP
	            ? canaries_write_blank(r->canaries, game, r->blank, s->shown)
	            : write_canary(r, game, draw_secret(r, game), s->shown);
	*text = s->shown;
}

static size_t give_played(void *user, size_t text, const int32_t **tokens) {
	struct game_state *s = user;
	*tokens = &s->eos;
	return text < s->first ? 1 : 0;
}

static bool draws_without(void *user, size_t text) {
	const struct game_state *s = user;
	return is_without(s->request, text);
}

/* Makes tokens of the text that is gone through again. What cannot be read has none. */
static void prepare_forced(struct game_state *s, size_t text) {
	const struct game_request *r = s->request;
	struct cuttle_error ignored;
	size_t size = 0;
	const char *words = records_text(r->texts, text % records_count(r->texts), &size);
	const size_t bound = cuttle_tokens_bound(size);
	s->forced_text = text;
	s->forced_count = 0;
	if (!words) return;
	if (bound > s->forced_room) {
		secrecy_free(s->forced);
		s->forced_room = 0;
		s->forced = calloc(bound, sizeof *s->forced);
		if (!s->forced) return;
		s->forced_room = bound;
	}
	if (cuttle_tokenize(r->model, words, size, false, s->forced, s->forced_room,
	                    &s->forced_count, &ignored))
		s->forced_count = 0;
}

static int32_t give_forced_token(void *user, size_t text, uint32_t step) {
	struct game_state *s = user;
	if (!s->request->texts) return -1;
	if (s->forced_text != text) prepare_forced(s, text);
	return step < s->forced_count ? s->forced[step] : s->eos;
}

static void take_game_odds(void *user, const struct cuttle_odds *odds) {
	struct game_state *s = user;
	if (s->request->kind == GAME_RANGES) {
		s->scores[odds->text] = fmax(s->scores[odds->text], odds->loss);
		s->answers[odds->text] = fmax(s->answers[odds->text], fabs(odds->answers));
		s->steps[odds->text]++;
	} else {
		s->scores[odds->text] += odds->ratio;
	}
}

/* ln P(text | prompt with this reference), and MIN-K of it where `lowest` is not NULL. */
static enum cuttle_status read_as_attacker(struct game_state *s, const char *reference, size_t size,
                                           const struct cuttle_text *text, double *sum,
                                           double *lowest, size_t stride) {
	const enum cuttle_status status = cuttle_attacker_read(
	    s->attacker, reference, size, text->ids, text->tokens, s->logprobs, &s->kept);
	*sum = 0;
	if (status) return status;
	for (size_t i = 0; i < text->tokens; i++) *sum += s->logprobs[i];
	for (size_t i = 0; lowest && i < GAME_MINK; i++) {
		lowest[i * stride] = attacks_lowest(s->logprobs, text->tokens, game_shares[i]);
		if (isnan(lowest[i * stride])) return CUTTLE_NOMEM;
	}
	return CUTTLE_OK;
}

/* Guesses the secret of a text: ranks it by each statistic, ties by fair lot. */
static enum cuttle_status guess_secret(struct game_state *s, const struct cuttle_text *text,
                                       double *values) {
	const struct game_request *r = s->request;
	const size_t secrets = (size_t)r->secrets;
	const uint64_t secret = draw_secret(r, text->index);
	char shown[CANARIES_SHOWN];
	enum cuttle_status status = CUTTLE_OK;
	for (size_t c = 0; c < secrets && !status; c++) {
		const size_t size = write_canary(r, text->index, c, shown);
		if (r->stop(r->user)) return CUTTLE_PARTIAL;
		status = read_as_attacker(s, shown, size, text, &s->guesses[c],
		                          &s->guesses[secrets + c], secrets);
	}
	values[0] = (double)secret;
	for (size_t i = 0; i < GAME_RANKS && !status; i++) {
		size_t before, ties;
		attacks_rank(s->guesses + i * secrets, secrets, (size_t)secret, &before, &ties);
		values[1 + i] = (double)(before + 1 +
		                         chance_below(r->chance, CHANCE_TIE, text->index, i, ties));
	}
	return status;
}

/* The score of a game that the model alone judges. */
static enum cuttle_status score_loss(struct game_state *s, const struct cuttle_text *text,
                                     double *score) {
	char shown[CANARIES_SHOWN];
	const size_t size = write_canary(s->request, text->index, 0, shown);
	double with = 0, without = 0;
	enum cuttle_status status = read_as_attacker(s, shown, size, text, &with, NULL, 0);
	if (!status) status = read_as_attacker(s, NULL, 0, text, &without, NULL, 0);
	*score = with - without;
	return status;
}

static int finish_game(void *user, const struct cuttle_text *text) {
	struct game_state *s = user;
	const struct game_request *r = s->request;
	const size_t game = text->index;
	double values[TRIALS_VALUES] = {0};
	r->done(r->user);
	if (game < s->first) return 0;
	if (r->kind == GAME_RANGES) {
		values[0] = s->scores[game];
		values[1] = s->steps[game];
		values[2] = s->answers[game];
	} else if (r->kind == GAME_SECRETS) {
		s->status = guess_secret(s, text, values);
	} else {
		values[0] = is_without(r, game);
		values[1] = s->scores[game];
		if (r->score == GAME_LOSS) s->status = score_loss(s, text, &values[1]);
	}
	if (!s->status) s->status = trials_add(s->trials, values, &s->kept);
	return s->status != CUTTLE_OK;
}

static int ask_game_stop(void *user, const struct cuttle_progress *progress) {
	const struct game_state *s = user;
	(void)progress;
	return s->request->stop(s->request->user);
}

static enum cuttle_status make_game_arrays(struct game_state *s) {
	const struct game_request *r = s->request;
	size_t context;
	if (r->rewriter) {
		struct cuttle_rewrite_guarantee guarantee;
		cuttle_rewriter_describe(r->rewriter, &guarantee);
		context = guarantee.context;
	} else {
		struct cuttle_guarantee guarantee;
		cuttle_plan_describe(r->plan, &guarantee);
		context = guarantee.context;
		s->places = (size_t)cuttle_guarantee_asked(&guarantee);
		s->rows = guarantee.places;
	}
	s->scores = calloc(r->games, sizeof *s->scores);
	s->steps = calloc(r->games, sizeof *s->steps);
	s->answers = calloc(r->games, sizeof *s->answers);
	s->logprobs = calloc(context, sizeof *s->logprobs);
	s->guesses = calloc(r->secrets ? r->secrets : 1, GAME_RANKS * sizeof *s->guesses);
	if (!s->scores || !s->steps || !s->answers || !s->logprobs || !s->guesses)
		return io_fail(s->error, CUTTLE_NOMEM, "out of memory");
	if (r->rewriter) return cuttle_attacker_make_rewritten(r->rewriter, &s->attacker, s->error);
	return r->kind == GAME_SECRETS || r->score == GAME_LOSS
	           ? cuttle_attacker_make(r->plan, &s->attacker, s->error)
	           : CUTTLE_OK;
}

static enum cuttle_status run_games(struct game_state *s) {
	const struct game_request *r = s->request;
	struct cuttle_job job;
	struct cuttle_audit audit;
	cuttle_job_default(&job);
	job.texts = r->games;
	job.user = s;
	job.reference = give_game_reference;
	job.drawn = give_played;
	job.text = finish_game;
	job.progress = ask_game_stop;
	cuttle_audit_default(&audit);
	audit.user = s;
	audit.place = r->kind == GAME_RANGES ? CUTTLE_EVERY_PLACE : s->rows - 1;
	audit.odds = take_game_odds;
	audit.order = r->order;
	if (r->kind == GAME_RANGES) audit.forced = give_forced_token;
	else audit.without = draws_without;
	const bool odds =
	    r->kind == GAME_RANGES || (r->kind != GAME_SECRETS && r->score == GAME_ODDS);
	return odds ? cuttle_audit_run(r->plan, &job, &audit, s->error)
	            : cuttle_job_run(r->plan, &job, s->error);
}

static enum cuttle_status run_rewritten_games(struct game_state *s) {
	struct cuttle_rewrite_job job;
	cuttle_rewrite_job_default(&job);
	job.documents = s->request->games;
	job.user = s;
	job.groups = give_game_groups;
	job.context = give_game_context;
	job.drawn = give_played;
	job.text = finish_game;
	job.progress = ask_game_stop;
	return cuttle_rewriter_run(s->request->rewriter, &job, s->error);
}

enum cuttle_status games_play(const struct game_request *request, struct trials *trials,
                              struct cuttle_error *error) {
	struct cuttle_model_info info;
	struct game_state s = {.request = request,
	                       .trials = trials,
	                       .first = trials_count(trials),
	                       .forced_text = SIZE_MAX,
	                       .error = error};
	cuttle_model_describe(request->model, &info);
	s.eos = info.eos;
	// A game that is played is told to the engine as a text of the end token alone.
	if (s.first && s.first < request->games && s.eos < 0)
		return io_fail(error, CUTTLE_USAGE,
		               "a model without an end token: its audit cannot be continued; "
		               "remove its file of trials");
	enum cuttle_status status = make_game_arrays(&s);
	if (!status && s.first < request->games)
		status = request->rewriter ? run_rewritten_games(&s) : run_games(&s);
	else if (!status)
		for (size_t i = 0; i < request->games; i++) request->done(request->user);
	if (status == CUTTLE_PARTIAL && s.status && s.status != CUTTLE_PARTIAL) {
		status = s.status;
		(void)io_fail(error, status, "%s",
		              status == CUTTLE_NOMEM ? "out of memory" : s.kept.message);
	}
	cuttle_attacker_free(&s.attacker);
	secrecy_free(s.scores);
	secrecy_free(s.steps);
	secrecy_free(s.answers);
	secrecy_free(s.logprobs);
	secrecy_free(s.guesses);
	secrecy_free(s.forced);
	sodium_memzero(s.shown, sizeof s.shown);
	return status;
}
