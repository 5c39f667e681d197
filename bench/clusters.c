// SPDX-License-Identifier: Apache-2.0
// How well clusters find categories that nobody told them, for bench/CLUSTERS.md.
// Usage: clusters MODEL SPLIT.jsonl...
// Each SPLIT is one order of records with members "text" and "category". The first 300 are taken as
// public: ten centres are made of them, by words, by the model, and by both features side by side.
// The others are assigned. Purity is the share of these that have their cluster's commonest
// category. A single cluster would have the share of the commonest category, which stands beside.
// SHARE in the environment: how much the model counts in both, 0 to 1, default 0.5. Everything is
// read as public.
#include "engine/cuttle.h"
#include "topics/centres.h"
#include "topics/hidden.h"
#include "io/records/records.h"
#include "topics/tfidf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUBLIC = 300, CENTRES = 10, KINDS = 64, FORMS = 3 };
static const char *const FORM_NAMES[FORMS] = {"words", "model", "both"};

struct split {
	size_t count;
	struct hidden_text *texts;            /* [count] */
	size_t *kinds;                        /* [count] number of the category */
	struct text_feature *features[FORMS]; /* [count] of each form */
};

static void stop_clusters(const char *what) {
	fprintf(stderr, "clusters: %s\n", what);
	exit(1);
}

static void *claim_memory(size_t count, size_t size) {
	void *memory = calloc(count, size);
	if (!memory) stop_clusters("out of memory");
	return memory;
}

static void number_kinds(const struct records *records, struct split *split) {
	const char *names[KINDS];
	size_t sizes[KINDS], known = 0;
	for (size_t i = 0; i < split->count; i++) {
		size_t size, kind = 0;
		const char *name = records_label(records, i, 0, &size);
		split->texts[i].bytes = records_text(records, i, &split->texts[i].size);
		if (!name || !split->texts[i].bytes)
			stop_clusters("a record lacks text or category");
		while (kind < known &&
		       (sizes[kind] != size || memcmp(names[kind], name, size) != 0))
			kind++;
		if (kind == KINDS) stop_clusters("too many categories");
		if (kind == known) {
			names[known] = name;
			sizes[known++] = size;
		}
		split->kinds[i] = kind;
	}
}

static void make_word_form(struct split *split) {
	static struct tfidf_work work;
	uint32_t df[TFIDF_WIDTH] = {0};
	uint16_t weights[TFIDF_WIDTH];
	for (size_t i = 0; i < PUBLIC; i++)
		tfidf_count(split->texts[i].bytes, split->texts[i].size, &work, df);
	tfidf_weigh(df, PUBLIC, weights);
	for (size_t i = 0; i < split->count; i++)
		tfidf_feature(weights, split->texts[i].bytes, split->texts[i].size, &work,
		              &split->features[0][i]);
}

static void make_model_form(struct split *split, struct cuttle_model *model) {
	struct cuttle_error error;
	struct hidden hidden;
	if (hidden_make(model, split->texts, PUBLIC, 0, &hidden, split->features[1], &error))
		stop_clusters(error.message);
	for (size_t i = PUBLIC; i < split->count; i += HIDDEN_TEXTS) {
		const size_t some =
		    split->count - i < HIDDEN_TEXTS ? split->count - i : HIDDEN_TEXTS;
		if (hidden_features(&hidden, model, split->texts + i, some, split->features[1] + i,
		                    &error))
			stop_clusters(error.message);
	}
	hidden_free(&hidden);
}

/* The entries of both, each with its own weight; the model's behind those of the words. */
static void make_both_form(struct split *split, double share) {
	for (size_t i = 0; i < split->count; i++) {
		const struct text_feature *words = &split->features[0][i],
		                          *model = &split->features[1][i];
		struct text_feature *both = &split->features[2][i];
		both->count = 0;
		for (size_t e = 0; e < words->count && e < FEATURE_MOST - HIDDEN_WIDTH; e++) {
			both->at[both->count] = words->at[e];
			both->value[both->count++] = (int32_t)(words->value[e] * sqrt(1 - share));
		}
		for (size_t e = 0; e < model->count; e++) {
			both->at[both->count] = (uint16_t)(TFIDF_WIDTH + model->at[e]);
			both->value[both->count++] = (int32_t)(model->value[e] * sqrt(share));
		}
	}
}

/* Makes centres of the public ones and returns the purity of the others. */
static double measure_purity(const struct split *split, const struct text_feature *features,
                             size_t width) {
	size_t seen[CENTRES + 1][KINDS] = {{0}}, right = 0, kept = 0;
	struct text_feature *public = claim_memory(PUBLIC, sizeof *public);
	struct centres centres;
	struct cuttle_error error;
	for (size_t i = 0; i < PUBLIC; i++)
		if (features[i].count) public[kept++] = features[i];
	if (centres_make(public, kept, CENTRES, width, &centres, NULL, &error))
		stop_clusters(error.message);
	for (size_t i = PUBLIC; i < split->count; i++) {
		const size_t nearest = centres_nearest(&centres, &features[i]);
		seen[nearest == CENTRES_NONE ? CENTRES : nearest][split->kinds[i]]++;
	}
	// A text without a cluster counts as wrong.
	for (size_t j = 0; j < CENTRES; j++) {
		size_t most = 0;
		for (size_t kind = 0; kind < KINDS; kind++)
			if (seen[j][kind] > most) most = seen[j][kind];
		right += most;
	}
	centres_free(&centres);
	free(public);
	return (double)right / (double)(split->count - PUBLIC);
}

static double measure_majority(const struct split *split) {
	size_t seen[KINDS] = {0}, most = 0;
	for (size_t i = PUBLIC; i < split->count; i++)
		if (++seen[split->kinds[i]] > most) most = seen[split->kinds[i]];
	return (double)most / (double)(split->count - PUBLIC);
}

static void measure_split(const char *path, struct cuttle_model *model, double purity[FORMS]) {
	static const char *const labels[] = {"category"};
	static const size_t widths[FORMS] = {TFIDF_WIDTH, HIDDEN_WIDTH, TFIDF_WIDTH + HIDDEN_WIDTH};
	const struct records_request request = {
	    .path = path, .field = "text", .limit = SIZE_MAX, .labels = labels, .label_count = 1};
	const char *share = getenv("SHARE");
	struct records *records;
	struct cuttle_error error;
	if (records_read(&request, &records, &error)) stop_clusters(error.message);
	struct split split = {.count = records_count(records)};
	if (split.count <= PUBLIC) stop_clusters("a split has too few records");
	split.texts = claim_memory(split.count, sizeof *split.texts);
	split.kinds = claim_memory(split.count, sizeof *split.kinds);
	for (size_t form = 0; form < FORMS; form++)
		split.features[form] = claim_memory(split.count, sizeof *split.features[form]);
	number_kinds(records, &split);
	make_word_form(&split);
	make_model_form(&split, model);
	make_both_form(&split, share ? strtod(share, NULL) : 0.5);
	printf("%s: commonest category %.3f", path, measure_majority(&split));
	for (size_t form = 0; form < FORMS; form++) {
		purity[form] = measure_purity(&split, split.features[form], widths[form]);
		printf(", %s %.3f", FORM_NAMES[form], purity[form]);
		free(split.features[form]);
	}
	printf("\n");
	free(split.texts);
	free(split.kinds);
	records_free(&records);
}

int main(int argc, char **argv) {
	struct cuttle_model *model;
	struct cuttle_error error;
	double sum[FORMS] = {0}, squares[FORMS] = {0};
	if (argc < 3) stop_clusters("usage: clusters MODEL SPLIT.jsonl...");
	if (cuttle_model_open(argv[1], NULL, &model, &error)) stop_clusters(error.message);
	const double splits = argc - 2;
	for (int i = 2; i < argc; i++) {
		double purity[FORMS];
		measure_split(argv[i], model, purity);
		for (size_t form = 0; form < FORMS; form++) {
			sum[form] += purity[form];
			squares[form] += purity[form] * purity[form];
		}
	}
	for (size_t form = 0; form < FORMS; form++) {
		const double mean = sum[form] / splits;
		printf("%s: %.3f +- %.3f over %g splits\n", FORM_NAMES[form], mean,
		       sqrt(fmax(0, squares[form] / splits - mean * mean)), splits);
	}
	cuttle_model_free(&model);
	return 0;
}
