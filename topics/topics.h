// SPDX-License-Identifier: Apache-2.0
// topics.h: names clusters of public texts by the words that weigh most in them.
//
// The clusters may be made by words or by a model. No private data. With words, times and log as in
// topics/tfidf.h, and df of all n public texts, a word weighs in a text
//     log(1 + times) * log((1 + n) / (1 + df))
// and in a cluster the sum over its texts, less the cluster's share of the sum over all texts. So a
// word that all clusters have weighs nothing. Words of fewer than two texts, or of more than 24
// bytes, name nothing; of equal ones that with the lower hash comes first. Example: "chest pain
// breath heart ekg".
#ifndef CUTTLE_TOPICS_TOPICS_H
#define CUTTLE_TOPICS_TOPICS_H

#include "topics/clusters.h"

/* Writes names [clusters] of public texts[count], whose clusters are of_text [count]. NOMEM. */
enum cuttle_status topics_name(const struct hidden_text *texts, const uint32_t *of_text,
                               size_t count, size_t clusters, char (*names)[CLUSTERS_NAME],
                               struct cuttle_error *error);

#endif
