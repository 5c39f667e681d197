// SPDX-License-Identifier: Apache-2.0
// Public texts to features, to centres, to names; and a private text to its cluster: see
// clusters.h.
#include "topics/clusters.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "topics/topics.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The public texts that clusters are made of. */
struct public_texts {
	struct hidden_text *texts;     /* [count] */
	struct text_feature *features; /* [count] */
	uint32_t *clusters;            /* [count] */
	size_t count;
};

static enum cuttle_status read_public_texts(const struct clusters_request *request,
                                            struct public_texts *public,
                                            struct cuttle_error *error) {
	const size_t count = records_count(request->records);
	if (count > CENTRES_POINTS)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: more than %d public texts: take a part of them", request->path,
		               CENTRES_POINTS);
	*public = (struct public_texts){.texts = calloc(count + 1, sizeof *public->texts),
	                                .features = calloc(count + 1, sizeof *public->features),
	                                .clusters = calloc(count + 1, sizeof *public->clusters)};
	if (!public->texts || !public->features || !public->clusters)
		return io_fail(error, CUTTLE_NOMEM, "out of memory for %zu public texts", count);
	for (size_t i = 0; i < count; i++) {
		struct hidden_text *text = &public->texts[public->count++];
		if (records_state(request->records, i) != RECORD_READABLE)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: record %zu has no text in its field %s: %s",
			               request->path, i, request->field,
			               records_state_words(records_state(request->records, i)));
		text->bytes = records_text(request->records, i, &text->size);
		utf8_trim(&text->bytes, &text->size);
	}
	return CUTTLE_OK;
}

static void free_public_texts(struct public_texts *public) {
	free(public->texts);
	free(public->features);
	free(public->clusters);
}

static enum cuttle_status make_word_features(struct public_texts *public, struct clusters *clusters,
                                             struct cuttle_error *error) {
	struct tfidf_work work = {.seen_count = 0};
	uint32_t df[TFIDF_WIDTH] = {0};
	clusters->weights = calloc(TFIDF_WIDTH, sizeof *clusters->weights);
	if (!clusters->weights) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < public->count; i++)
		tfidf_count(public->texts[i].bytes, public->texts[i].size, &work, df);
	tfidf_weigh(df, public->count, clusters->weights);
	for (size_t i = 0; i < public->count; i++)
		tfidf_feature(clusters->weights, public->texts[i].bytes, public->texts[i].size,
		              &work, &public->features[i]);
	return CUTTLE_OK;
}

static enum cuttle_status make_features(const struct clusters_request *request,
                                        struct public_texts *public, struct clusters *clusters,
                                        struct cuttle_error *error) {
	if (request->by == CLUSTERS_BY_WORDS) return make_word_features(public, clusters, error);
	(void)strcpy(clusters->model_sha256, request->model_sha256);
	return hidden_make(request->model, public->texts, public->count, request->threads,
	                   &clusters->hidden, public->features, error);
}

/* Keeps the texts that have a direction, in their order. */
static enum cuttle_status keep_directed(const struct clusters_request *request,
                                        struct public_texts *public, struct cuttle_error *error) {
	size_t kept = 0;
	for (size_t i = 0; i < public->count; i++) {
		if (!public->features[i].count) continue;
		public->texts[kept] = public->texts[i];
		public->features[kept++] = public->features[i];
	}
	public->count = kept;
	if (kept >= CLUSTERS_TEXTS * request->count) return CUTTLE_OK;
	if (kept < (size_t)2 * CLUSTERS_TEXTS)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: %zu public texts that can be told apart are too few for "
		               "clusters. Give at least %zu, %d for each of %zu",
		               request->path, kept, CLUSTERS_TEXTS * request->count, CLUSTERS_TEXTS,
		               request->count);
	return io_fail(error, CUTTLE_INPUT,
	               "%s: %zu public texts that can be told apart are too few for %zu "
	               "clusters. Give at least %zu, or ask for --clusters %zu",
	               request->path, kept, request->count, CLUSTERS_TEXTS * request->count,
	               kept / CLUSTERS_TEXTS);
}

static enum cuttle_status count_members(const struct clusters_request *request,
                                        const struct public_texts *public,
                                        struct clusters *clusters, struct cuttle_error *error) {
	size_t filled = 0;
	for (size_t i = 0; i < public->count; i++)
		filled += clusters->sizes[public->clusters[i]]++ == 0;
	if (filled == clusters->count) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               "%s: the public texts are too much alike: they fall into %zu clusters, not "
	               "%zu: ask for fewer",
	               request->path, filled, clusters->count);
}

enum cuttle_status clusters_make(const struct clusters_request *request, struct clusters *clusters,
                                 struct cuttle_error *error) {
	struct public_texts public = {.count = 0};
	const size_t count = request->count;
	*clusters = (struct clusters){.by = request->by, .count = count};
	if (count < 2 || count > CLUSTERS_MOST)
		return io_fail(error, CUTTLE_USAGE, "%zu clusters are outside 2..%d", count,
		               CLUSTERS_MOST);
	enum cuttle_status status = read_public_texts(request, &public, error);
	if (!status && public.count) status = make_features(request, &public, clusters, error);
	if (!status) status = keep_directed(request, &public, error);
	if (!status) {
		clusters->texts = public.count;
		clusters->names = calloc(count, sizeof *clusters->names);
		clusters->sizes = calloc(count, sizeof *clusters->sizes);
		if (!clusters->names || !clusters->sizes)
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!status)
		status = centres_make(public.features, public.count, count,
		                      request->by == CLUSTERS_BY_WORDS ? TFIDF_WIDTH : HIDDEN_WIDTH,
		                      &clusters->centres, public.clusters, error);
	if (!status) status = count_members(request, &public, clusters, error);
	if (!status)
		status = topics_name(public.texts, public.clusters, public.count, count,
		                     clusters->names, error);
	for (size_t j = 1; !status && j < count; j++)
		for (size_t i = 0; i < j; i++)
			if (!strcmp(clusters->names[i], clusters->names[j]))
				(void)snprintf(clusters->names[j], CLUSTERS_NAME, "cluster %zu", j);
	free_public_texts(&public);
	if (status) clusters_free(clusters);
	return status;
}

void clusters_free(struct clusters *clusters) {
	centres_free(&clusters->centres);
	hidden_free(&clusters->hidden);
	free(clusters->names);
	free(clusters->sizes);
	free(clusters->weights);
	*clusters = (struct clusters){0};
}

/* The text as its feature is made from it: without white space at both ends, none where it is null,
 * blank or not UTF-8. */
static struct hidden_text trim_private(struct hidden_text text) {
	if (text.bytes) utf8_trim(&text.bytes, &text.size);
	if (!text.bytes || !text.size || !utf8_valid(text.bytes, text.size))
		return (struct hidden_text){NULL, 0};
	return text;
}

enum cuttle_status clusters_find(const struct clusters *clusters, struct cuttle_model *model,
                                 const struct hidden_text *texts, size_t count, uint32_t *found,
                                 struct cuttle_error *error) {
	struct text_feature features[HIDDEN_TEXTS] = {{.count = 0}};
	struct tfidf_work work = {.seen_count = 0};
	enum cuttle_status status = CUTTLE_OK;
	REQUIRE(clusters->by == CLUSTERS_BY_WORDS || model);
	for (size_t first = 0; !status && first < count; first += HIDDEN_TEXTS) {
		const size_t some = count - first < HIDDEN_TEXTS ? count - first : HIDDEN_TEXTS;
		struct hidden_text trimmed[HIDDEN_TEXTS];
		for (size_t i = 0; i < some; i++) trimmed[i] = trim_private(texts[first + i]);
		if (clusters->by == CLUSTERS_BY_MODEL)
			status = hidden_features(&clusters->hidden, model, trimmed, some, features,
			                         error);
		else
			for (size_t i = 0; i < some; i++)
				tfidf_feature(clusters->weights, trimmed[i].bytes, trimmed[i].size,
				              &work, &features[i]);
		for (size_t i = 0; !status && i < some; i++)
			found[first + i] = centres_nearest(&clusters->centres, &features[i]);
	}
	sodium_memzero(features, sizeof features);
	return status;
}
