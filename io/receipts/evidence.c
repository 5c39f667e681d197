// SPDX-License-Identifier: Apache-2.0
// See evidence.h. What all receipts have stands in evidence_json; attest_words reads it back.
#include "io/receipts/evidence.h"

#include "io/disk/fail.h"
#include "io/receipts/receipt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *evidence_json(const struct receipt_kind *kind, const void *receipt, const char *fingerprint,
                      const char *output_sha256) {
	char sentence[EVIDENCE_SENTENCE];
	kind->sentence(receipt, sentence);
	const struct jsonout_member frame[] = {
	    {"command_sha256", json_string(fingerprint)},
	    {"guarantee", json_string(sentence)},
	    {"output_sha256", json_string(output_sha256)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"version", json_string(cuttle_version())},
	};
	const char *const note = kind->note(receipt);
	const struct jsonout_member stamp = {"note", note ? json_string(note) : NULL},
	                            mechanism = {"mechanism", kind->mechanism
	                                                          ? json_string(kind->mechanism)
	                                                          : NULL};
	json_t *root = jsonout_extend(json_object(), frame, MEMBERS_IN(frame));
	if (note) root = jsonout_extend(root, &stamp, 1);
	if (kind->mechanism) root = jsonout_extend(root, &mechanism, 1);
	return members_add(root, kind->members, kind->count, receipt);
}

static enum receipt_wording *wording_of(const struct receipt_kind *kind, void *receipt) {
	return (void *)((char *)receipt + kind->wording);
}

bool evidence_fingerprint(const struct receipt_kind *kind, const void *receipt,
                          const struct jsonout_member *members, size_t count,
                          char fingerprint[HASH_TEXT]) {
	void *same = malloc(kind->size);
	json_t *root = NULL;
	if (same) {
		memcpy(same, receipt, kind->size);
		members_blank(kind->members, kind->count, same);
		*wording_of(kind, same) = RECEIPT_OLDEST;
		if (kind->blank) kind->blank(same);
		root = evidence_json(kind, same, "", "");
	}
	free(same);
	return receipt_hash_command(root, members, count, fingerprint);
}

enum cuttle_status evidence_read(const struct receipt_kind *kind, struct attested *attested,
                                 struct evidence *evidence, struct cuttle_error *error) {
	*evidence = (struct evidence){kind, *attested, calloc(1, kind->room)};
	*attested = (struct attested){0};
	if (!evidence->receipt) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool right =
	    (!kind->mechanism || attest_mechanism(&evidence->attested, kind->mechanism)) &&
	    attest_words(&evidence->attested) &&
	    members_take(&evidence->attested, kind->members, kind->count, evidence->receipt);
	return attest_refuse(&evidence->attested, right, error);
}

void evidence_find_wording(const struct receipt_kind *kind, const struct attested *attested,
                           void *receipt) {
	enum receipt_wording *wording = wording_of(kind, receipt);
	char sentence[EVIDENCE_SENTENCE];
	for (*wording = RECEIPT_OLDEST; *wording > RECEIPT_NOW; --*wording) {
		kind->sentence(receipt, sentence);
		if (!strcmp(sentence, attested->sentence)) return;
	}
}

enum cuttle_status evidence_check(struct evidence *evidence, const char *key,
                                  struct cuttle_error *error) {
	const struct receipt_kind *kind = evidence->kind;
	const struct attested *attested = &evidence->attested;
	const char *problem = attest_signature(attested, key);
	if (!problem) problem = kind->check(attested, evidence->receipt);
	json_t *again = problem ? NULL
	                        : evidence_json(kind, evidence->receipt, attested->command_sha256,
	                                        attested->output_sha256);
	return attest_conclude(attested, problem, again, kind->members, kind->count, error);
}

void evidence_free(struct evidence *evidence) {
	free(evidence->receipt);
	attest_close(&evidence->attested);
	*evidence = (struct evidence){0};
}

const void *evidence_field(const struct evidence *evidence, const char *name) {
	for (size_t i = 0; i < evidence->kind->count; i++) {
		const struct member *member = &evidence->kind->members[i];
		if (member->size && member->name && !strcmp(member->name, name))
			return (const char *)evidence->receipt + member->offset;
	}
	return NULL;
}

bool evidence_follows(const struct evidence *evidence, const char *name) {
	char word[64];
	(void)snprintf(word, sizeof word, " %s ", name);
	if (strstr(" guarantee mechanism note public_key receipt ", word)) return true;
	for (size_t i = 0; i < evidence->kind->count; i++) {
		const char *follows = evidence->kind->members[i].follows;
		if (follows && strstr(follows, word)) return true;
	}
	return false;
}

bool evidence_confirm(double claimed, double follows) {
	return isnan(claimed) || isnan(follows) ? isnan(claimed) && isnan(follows)
	                                        : attest_confirm(claimed, follows);
}
