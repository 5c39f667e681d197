// SPDX-License-Identifier: Apache-2.0
// How tagging.h finds: each source hands its marks to spans_add, one after the other.
#include "tools/common/tagging.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "tag/rules.h"
#include <string.h>

enum { LIST = 1 << 26 }; /* bytes of the longest list of names, 64 MiB */

bool tagging_takes_own(const struct tagging_values *values) {
	return !strcmp(values->tagger, "none") && !values->names;
}

static enum cuttle_status read_names(const char *path, struct names **names,
                                     struct cuttle_error *error) {
	char *text;
	size_t size, wrong = 0;
	enum cuttle_status status = file_read(path, LIST, &text, &size, error);
	if (status) return status;
	if (!names_make(text, size, names, &wrong))
		status = wrong ? io_fail(error, CUTTLE_INPUT,
		                         "%s: line %zu is not a name, or a name, a tab and a type",
		                         path, wrong)
		               : io_fail(error, CUTTLE_NOMEM, "out of memory");
	else if (!names_count(*names))
		status = io_fail(error, CUTTLE_INPUT, "%s: there is no name in it", path);
	secrecy_free(text);
	return status;
}

enum cuttle_status tagging_open(const struct tagging_values *values, struct tagging *tagging,
                                struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	*tagging = (struct tagging){.rules = !strcmp(values->tagger, "rules"), .values = values};
	if (values->names) status = read_names(values->names, &tagging->names, error);
	if (!status && !tagging->rules && strcmp(values->tagger, "none") != 0)
		status = tagger_start(values->tagger, (unsigned)values->seconds, &tagging->tagger,
		                      error);
	if (status) (void)tagging_close(tagging, status, error);
	return status;
}

/* What takes the marks of rules and names. */
struct tag_taker {
	struct span_types *types;
	struct spans *spans;
	enum cuttle_status status; /* of the first that could not be added */
	struct cuttle_error *error;
};

static void take_name(void *user, size_t start, size_t end, const char *type) {
	struct tag_taker *taker = user;
	if (!taker->status)
		taker->status =
		    spans_add(taker->spans, taker->types, start, end, type, taker->error);
}

static void take_rule(void *user, size_t start, size_t end, enum tag_type type) {
	take_name(user, start, end, tag_type_name(type));
}

enum cuttle_status tagging_text(const struct tagging *tagging, const struct spans_request *request,
                                size_t number, struct span_types *types, struct spans *spans,
                                struct cuttle_error *error) {
	struct tag_taker taker = {types, spans, CUTTLE_OK, error};
	const char *text = spans->text.used ? spans->text.bytes : "";
	const size_t size = spans->text.used;
	if (tagging->rules) tag_rules(text, size, take_rule, &taker);
	if (tagging->names && !names_scan(tagging->names, text, size, take_name, &taker))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (taker.status || !tagging->tagger) return taker.status;
	return tagger_ask(tagging->tagger, request, number, types, spans, error);
}

enum cuttle_status tagging_close(struct tagging *tagging, enum cuttle_status status,
                                 struct cuttle_error *error) {
	status = tagger_stop(&tagging->tagger, status, error);
	names_free(tagging->names);
	*tagging = (struct tagging){.rules = false};
	return status;
}

void tagging_words(const struct tagging_values *values, char words[TAGGING_WORDS]) {
	char tagger[32] = "another program";
	if (!strcmp(values->tagger, "rules"))
		(void)snprintf(tagger, sizeof tagger, "rules %d", TAG_RULES_VERSION);
	if (!strcmp(values->tagger, "none")) tagger[0] = 0;
	(void)snprintf(words, TAGGING_WORDS, "whoever made the documents' spans%s%s%s%s",
	               *tagger ? ", " : "", tagger, values->names ? ", " : "",
	               values->names ? "a list of names" : "");
}

void tagging_warn(const struct verb *verb, const struct tagging_values *values) {
	char rules[32] = "";
	const char *tagger = values->tagger;
	if (tagging_takes_own(values)) tagger = "whoever made the spans of the documents";
	else if (!strcmp(tagger, "none")) tagger = "the names alone";
	else if (!strcmp(tagger, "rules")) {
		(void)snprintf(rules, sizeof rules, "rules %d", TAG_RULES_VERSION);
		tagger = rules;
	}
	fprintf(stderr, "cuttle %s: tagged by %s: what they miss is not protected\n", verb->name,
	        tagger);
}
