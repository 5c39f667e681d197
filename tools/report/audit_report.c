// SPDX-License-Identifier: Apache-2.0
// The same numbers in both forms. The control stands beside what is audited: without it neither
// says anything.
#include "tools/report/audit_report.h"

#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include "io/disk/secrecy.h"
#include <math.h>
#include <stdio.h>

const char *audit_words(enum audit_verdict verdict) {
	static const char *const words[] = {
	    [AUDIT_HOLDS] = "nothing contradicts the claim",
	    [AUDIT_WEAK] = "nothing contradicts the claim, but so many games cannot show so much",
	    [AUDIT_CONTRADICTED] = "the claim is contradicted",
	    [AUDIT_VOID] = "void: no control was caught, so the audit could not have seen a fault",
	    [AUDIT_POWERLESS] =
	        ("void: even if all guesses were right, so many could not contradict "
	         "the claim at its delta"),
	    [AUDIT_REPORTED] = "numbers alone: nothing is claimed that they could contradict"};
	return words[verdict];
}

static json_t *encode_audit_game(const struct audit_game *game) {
	json_t *object = json_object();
	for (size_t i = 0; i < game->count; i++)
		object =
		    jsonout_extend(object,
		                   &(struct jsonout_member){game->numbers[i].key,
		                                            jsonout_real(game->numbers[i].value)},
		                   1);
	if (!game->bounded) return object;
	const struct jsonout_member bounds[] = {{"epsilon_at_least", jsonout_real(game->likely)},
	                                        {"epsilon_at_least_sure", jsonout_real(game->sure)},
	                                        {"could_show", jsonout_real(game->most)},
	                                        {"could_refute", jsonout_real(game->refutes)}};
	return jsonout_extend(object, bounds, sizeof bounds / sizeof *bounds);
}

static json_t *encode_audit(const struct audit *audit, const struct audit_facts *facts) {
	const struct jsonout_member members[] = {
	    {"audit", json_string(facts->action)},
	    {"private", json_boolean(audit->is_private)},
	    {"stamp", audit->is_private ? json_string(AUDIT_STAMP) : json_null()},
	    {"verdict", json_string(audit_words(audit->verdict))},
	    {"contradicted", json_boolean(audit->verdict == AUDIT_CONTRADICTED)},
	    {"void",
	     json_boolean(audit->verdict == AUDIT_VOID || audit->verdict == AUDIT_POWERLESS)},
	    {"claimed_epsilon", jsonout_real(audit->epsilon)},
	    {"delta", jsonout_real(audit->delta)},
	    {"model", facts->model ? json_string(facts->model) : json_null()},
	    {"model_sha256", facts->model ? json_string(facts->model_sha256) : json_null()},
	    {"receipt_sha256",
	     *audit->receipt_sha256 ? json_string(audit->receipt_sha256) : json_null()},
	    {"canary", *audit->canary ? json_string(audit->canary) : json_null()},
	    {"game", encode_audit_game(&audit->game)},
	    {"control", audit->has_control ? encode_audit_game(&audit->control) : json_null()}};
	json_t *root = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	if (!facts->halves) return root;
	return jsonout_extend(root, &(struct jsonout_member){"by_lot", json_boolean(audit->by_lot)},
	                      1);
}

static void print_audit_cell(FILE *file, const struct audit_game *game, size_t i) {
	if (isfinite(game->numbers[i].value))
		fprintf(file, " %.*f |", game->numbers[i].digits, game->numbers[i].value);
	else fputs(" - |", file);
}

static void print_bound(FILE *file, const char *words, const struct audit *audit, double game,
                        double control) {
	fprintf(file, "| %s | %.3f |", words, game);
	if (audit->has_control) fprintf(file, " %.3f |", control);
	fputc('\n', file);
}

static void print_audit(FILE *file, const struct audit *audit, const struct audit_facts *facts) {
	if (audit->is_private) fprintf(file, "**%s**\n\n", AUDIT_STAMP);
	fprintf(file, "cuttle audit %s: %s.\n", facts->action, audit_words(audit->verdict));
	if (facts->model)
		fprintf(file, "\nModel %s, SHA-256 %.16s...\n", facts->model, facts->model_sha256);
	if (isfinite(audit->epsilon))
		fprintf(file, "Claimed: epsilon %.6g at delta %.3g, of %s.\n", audit->epsilon,
		        audit->delta,
		        audit->rewritten ? "what all marks of a document hold"
		                         : "a record in a known batch");
	if (facts->halves)
		fprintf(
		    file, "%s\n",
		    audit->by_lot
		        ? "Kept aside by lot: both files are of one split."
		        : "Nothing shows that the held-out records were kept aside by lot. p and "
		          "the bounds hold only if they were (cuttle audit holdout --split).");
	fprintf(file, "\n| | audited |%s\n|---|---|%s\n",
	        audit->has_control ? " control, which protects nothing |" : "",
	        audit->has_control ? "---|" : "");
	for (size_t i = 0; i < audit->game.count; i++) {
		fprintf(file, "| %s |", audit->game.numbers[i].words);
		print_audit_cell(file, &audit->game, i);
		if (audit->has_control) print_audit_cell(file, &audit->control, i);
		fputc('\n', file);
	}
	if (audit->game.bounded) {
		print_bound(file, "epsilon is at least, with 95 %", audit, audit->game.likely,
		            audit->control.likely);
		print_bound(file, "epsilon is at least, but for one in a million", audit,
		            audit->game.sure, audit->control.sure);
		print_bound(file, "the most that so many games can show, with 95 %", audit,
		            audit->game.most, audit->control.most);
		print_bound(file, "the same, except for one in a million", audit,
		            audit->game.refutes, audit->control.refutes);
	}
	if (audit->is_private) fprintf(file, "\n**%s**\n", AUDIT_STAMP);
}

enum cuttle_status audit_write(struct sink *sink, const struct audit *audit,
                               const struct audit_facts *facts, struct cuttle_error *error) {
	if (facts->json)
		return jsonout_write(sink, encode_audit(audit, facts), JSON_INDENT(1), error);
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	print_audit(file, audit, facts);
	const bool failed = ferror(file) != 0;
	const enum cuttle_status status = fclose(file) || failed
	                                      ? io_fail(error, CUTTLE_NOMEM, "out of memory")
	                                      : sink_write(sink, text, size, error);
	secrecy_free(text);
	return status;
}
