// SPDX-License-Identifier: Apache-2.0
// A judge for each kind of game, see judging.h.
#include "workflow/audit/judging.h"

#include "io/disk/secrecy.h"
#include "measure/attacks.h"
#include "measure/bounds.h"
#include "measure/samples.h"
#include <math.h>
#include <stdlib.h>

enum { EXPOSURE_PART = 100 }; /* a secret counts as exposed in the first hundredth of all */

static enum cuttle_status judge_worlds(const struct judging *j, const struct trials *trials,
                                       struct audit_game *game) {
	const size_t n = trials_count(trials) / 2;
	const double delta = j->delta;
	double *with = calloc(n, sizeof *with), *without = calloc(n, sizeof *without);
	struct attacks_worlds judged = {0};
	if (with && without) {
		for (size_t i = 0; i < n; i++) {
			with[i] = trials_get(trials, 2 * i)[1];
			without[i] = trials_get(trials, 2 * i + 1)[1];
		}
		attacks_judge(with, without, n, delta, &judged);
		finding_add(game, "games", "games that count, of each world", (double)judged.with,
		            0);
		finding_add(game, "threshold", "\"with\" from a score of", judged.threshold, 4);
		finding_add(game, "hits", "\"with\" said of games with the canary",
		            (double)judged.hits, 0);
		finding_add(game, "alarms", "\"with\" said of games without it",
		            (double)judged.alarms, 0);
		finding_add(game, "mean_with", "mean score with", samples_mean(with, n), 4);
		finding_add(game, "mean_without", "mean score without", samples_mean(without, n),
		            4);
		const uint64_t h = judged.hits, a = judged.alarms, of = judged.with;
		finding_bound(game, bounds_two_worlds(h, of, a, of, delta, FINDING_LIKELY),
		              bounds_two_worlds(h, of, a, of, delta, FINDING_SURE),
		              bounds_two_worlds(of, of, 0, of, delta, FINDING_LIKELY),
		              bounds_two_worlds(of, of, 0, of, delta, FINDING_SURE));
	}
	secrecy_free(with);
	secrecy_free(without);
	return judged.with ? CUTTLE_OK : CUTTLE_NOMEM;
}

/* A fifth, where nothing else is asked for. */
static size_t count_lot_guesses(size_t records, uint64_t guesses) {
	return guesses ? (size_t)guesses : records < 5 ? 1 : records / 5;
}

double judging_could_refute(size_t records, uint64_t guesses, double delta) {
	const size_t r = count_lot_guesses(records, guesses);
	return r <= records ? bounds_one_run(records, r, r, delta, FINDING_SURE) : 0;
}

static enum cuttle_status judge_lots(const struct judging *j, const struct trials *trials,
                                     struct audit_game *game) {
	const size_t m = trials_count(trials);
	const size_t r = count_lot_guesses(m, j->guesses);
	double *scores = calloc(m, sizeof *scores);
	bool *in = calloc(m, sizeof *in);
	size_t right = SIZE_MAX;
	if (scores && in) {
		for (size_t i = 0; i < m; i++) {
			in[i] = trials_get(trials, i)[0] == 0;
			scores[i] = trials_get(trials, i)[1];
		}
		right = attacks_guess(scores, in, m, 0, r);
	}
	secrecy_free(scores);
	secrecy_free(in);
	if (right == SIZE_MAX) return CUTTLE_NOMEM;
	const double delta = j->delta;
	finding_add(game, "canaries", "canaries, each in or out by lot", (double)m, 0);
	finding_add(game, "guesses", "guesses", (double)r, 0);
	finding_add(game, "right", "right guesses", (double)right, 0);
	finding_bound(game, bounds_one_run(m, r, right, delta, FINDING_LIKELY),
	              bounds_one_run(m, r, right, delta, FINDING_SURE),
	              bounds_one_run(m, r, r, delta, FINDING_LIKELY),
	              bounds_one_run(m, r, r, delta, FINDING_SURE));
	return CUTTLE_OK;
}

/* Six statistics are tried, so each bound has a sixth of the chance of error. */
static enum cuttle_status judge_recovery(const struct judging *j, const struct trials *trials,
                                         struct audit_game *game) {
	static const char *const keys[GAME_RANKS] = {"loss",    "mink_05", "mink_10",
	                                             "mink_20", "mink_30", "mink_40"};
	static const char *const words[GAME_RANKS] = {"found by LOSS",       "found by MIN-K 5 %",
	                                              "found by MIN-K 10 %", "found by MIN-K 20 %",
	                                              "found by MIN-K 30 %", "found by MIN-K 40 %"};
	const size_t n = trials_count(trials);
	const uint64_t secrets = j->secrets;
	const double delta = j->delta;
	double likely = 0, sure = 0;
	finding_add(game, "games", "texts, each with a secret of its own", (double)n, 0);
	finding_add(game, "secrets", "secrets to choose from", (double)secrets, 0);
	for (size_t i = 0; i < GAME_RANKS; i++) {
		uint64_t right = 0;
		for (size_t t = 0; t < n; t++) right += trials_get(trials, t)[1 + i] == 1;
		finding_add(game, keys[i], words[i], (double)right, 0);
		likely = fmax(likely,
		              bounds_guess(right, n, secrets, delta, FINDING_LIKELY / GAME_RANKS));
		sure =
		    fmax(sure, bounds_guess(right, n, secrets, delta, FINDING_SURE / GAME_RANKS));
	}
	finding_add(game, "chance", "expected by chance", (double)n / (double)secrets, 2);
	finding_bound(game, likely, sure,
	              bounds_guess(n, n, secrets, delta, FINDING_LIKELY / GAME_RANKS),
	              bounds_guess(n, n, secrets, delta, FINDING_SURE / GAME_RANKS));
	return CUTTLE_OK;
}

static enum cuttle_status judge_exposure(const struct judging *j, const struct trials *trials,
                                         struct audit_game *game) {
	const size_t n = trials_count(trials);
	const uint64_t secrets = j->secrets;
	const uint64_t cut = secrets > EXPOSURE_PART ? secrets / EXPOSURE_PART : 1;
	double *bits = calloc(n, sizeof *bits);
	uint64_t early = 0;
	if (!bits) return CUTTLE_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const double rank = trials_get(trials, i)[1];
		const bool sound = rank >= 1 && rank <= (double)secrets;
		bits[i] = bounds_exposure(sound ? (uint64_t)rank : secrets, secrets);
		early += sound && rank <= (double)cut;
	}
	finding_add(game, "games", "texts, each with a secret of its own", (double)n, 0);
	finding_add(game, "secrets", "secrets to choose from", (double)secrets, 0);
	finding_add(game, "exposure", "mean exposure, bits", samples_mean(bits, n), 4);
	finding_add(game, "error", "half width of 99 %", samples_half_width(bits, n), 4);
	finding_add(game, "chance", "mean where nothing leaks, bits",
	            attacks_chance_exposure(secrets), 4);
	finding_add(game, "early", "secrets in the first hundredth", (double)early, 0);
	secrecy_free(bits);
	// A first hundredth is as a guess of one of so many: rounded down, the bound is smaller.
	const uint64_t parts = secrets / cut;
	const double delta = j->delta;
	finding_bound(game, bounds_guess(early, n, parts, delta, FINDING_LIKELY),
	              bounds_guess(early, n, parts, delta, FINDING_SURE),
	              bounds_guess(n, n, parts, delta, FINDING_LIKELY),
	              bounds_guess(n, n, parts, delta, FINDING_SURE));
	return CUTTLE_OK;
}

static enum cuttle_status judge_ranges(const struct judging *j, const struct trials *trials,
                                       struct audit_game *game) {
	const double eta = j->eta;
	double widest = 0, steps = 0, answers = 0;
	for (size_t i = 0; i < trials_count(trials); i++) {
		widest = fmax(widest, trials_get(trials, i)[0]);
		steps += trials_get(trials, i)[1];
		answers = fmax(answers, trials_get(trials, i)[2]);
	}
	finding_add(game, "texts", "texts", (double)trials_count(trials), 0);
	finding_add(game, "compared", "pairs of laws: tokens times references", steps, 0);
	if (j->order > 0) {
		finding_add(game, "order", "Renyi order", j->order, 0);
		finding_add(game, "widest", "largest divergence of that order", widest, 12);
		finding_add(game, "eta", "what it may be at most", eta, 12);
	} else {
		finding_add(game, "widest", "widest range of ln(P/P')", widest, 12);
		finding_add(game, "eta", "eta, what it may be at most", eta, 12);
	}
	finding_add(game, "share", "share of that which was reached", eta > 0 ? widest / eta : NAN,
	            6);
	if (j->answers > 0) {
		finding_add(game, "answers", "farthest ln(P/P') of a unit's answers", answers, 6);
		finding_add(game, "answers_most", "what that may be at most", j->answers, 6);
	}
	return CUTTLE_OK;
}

enum cuttle_status judging_trials(const struct judging *judging, const struct trials *trials,
                                  struct audit_game *game) {
	if (judging->kind == GAME_WORLDS) return judge_worlds(judging, trials, game);
	if (judging->kind == GAME_LOTS) return judge_lots(judging, trials, game);
	if (judging->kind == GAME_RANGES) return judge_ranges(judging, trials, game);
	return judging->exposure ? judge_exposure(judging, trials, game)
	                         : judge_recovery(judging, trials, game);
}
