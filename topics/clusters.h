// SPDX-License-Identifier: Apache-2.0
// clusters.h: which cluster of public texts a text belongs to, by what it is about.
//
// Clusters are made of public texts alone, before a private text is read. Private texts pass
// through clusters_find, which keeps nothing of them.
//
// A cluster of a text is a function of that text, the clusters and the model. No other text has a
// say, bit for bit, on any machine. This is what dp/PRIVACY.md, step 41, rests on. A text that is
// null, blank, not UTF-8 or without a direction has *no* cluster, and there is no default one.
//
//     clusters_make(&request, &clusters, &error);
//     struct hidden_text text = {bytes, size};
//     clusters_find(&clusters, NULL, &text, 1, &number, &error);     number 3, or CLUSTERS_NONE
#ifndef CUTTLE_TOPICS_CLUSTERS_H
#define CUTTLE_TOPICS_CLUSTERS_H

#include "topics/centres.h"
#include "io/disk/hash.h"
#include "topics/hidden.h"
#include "io/records/records.h"
#include "topics/tfidf.h"

#define CLUSTERS_NONE CENTRES_NONE /* in the place of a number: no cluster */
enum {
	CLUSTERS_MOST = CENTRES_MOST, /* clusters */
	CLUSTERS_TEXTS = 20,          /* public texts that there are for each cluster, at least */
	CLUSTERS_WORDS = 5,           /* words of a name */
	CLUSTERS_NAME = 128           /* bytes of a name, with the NUL */
};

enum clusters_by {
	CLUSTERS_BY_WORDS, /* by topics/tfidf */
	CLUSTERS_BY_MODEL  /* by topics/hidden */
};

struct clusters {
	enum clusters_by by;
	size_t count; /* k, 2 .. CLUSTERS_MOST */
	size_t texts; /* public texts that they are made of */
	struct centres centres;

	/* The five words that weigh most in the public texts of each, with spaces between them; or
	 * "cluster 3" where there is none. */
	char (*names)[CLUSTERS_NAME]; /* [count] */
	uint32_t *sizes;              /* [count] public texts of each, at least 1 */

	uint16_t *weights;            /* [TFIDF_WIDTH]; NULL = by model */
	struct hidden hidden;         /* zeros = by words */
	char model_sha256[HASH_TEXT]; /* "" = by words */
};

struct clusters_request {
	const struct records *records; /* public */
	const char *path;              /* of the records, for messages */
	const char *field;             /* of the text, for messages */
	size_t count;                  /* k */
	enum clusters_by by;
	struct cuttle_model *model; /* NULL = by words */
	const char *model_sha256;   /* of its file; NULL = by words */
	unsigned threads;           /* of cuttle_components */
};

/* Makes clusters. clusters_free frees them.
 * USAGE: count is not 2 .. CLUSTERS_MOST, or a failure of hidden_make. INPUT: a record has no text;
 * fewer than CLUSTERS_TEXTS texts with a direction for each cluster, or more than CENTRES_POINTS;
 * the texts fall into fewer clusters. NOMEM. */
enum cuttle_status clusters_make(const struct clusters_request *request, struct clusters *clusters,
                                 struct cuttle_error *error);
/* Frees what is in *clusters and empties it. */
void clusters_free(struct clusters *clusters);

/* Sets found [count] to the clusters of PRIVATE texts, or CLUSTERS_NONE. The model is the one that
 * the clusters were made with; NULL by words. Failures of hidden_features: none depends on a text.
 */
enum cuttle_status clusters_find(const struct clusters *clusters, struct cuttle_model *model,
                                 const struct hidden_text *texts, size_t count, uint32_t *found,
                                 struct cuttle_error *error);

#endif
