// SPDX-License-Identifier: Apache-2.0
// See seats.h. What is drawn is on the disk before anything follows from it.
#include "workflow/seats.h"

#include "engine/cuttle/histogram.h"
#include "io/disk/fail.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Draws counts[k] from the clusters of the records, and keeps them. */
static enum cuttle_status draw_cluster_counts(const struct generate_request *request,
                                              const struct setup *setup, struct delivery *delivery,
                                              const struct references *references, int64_t *counts,
                                              struct cuttle_error *error) {
	const int32_t *tokens;
	if (output_drawn(delivery->output, 0, &tokens))
		return io_fail(error, CUTTLE_PARTIAL,
		               "the counts of this run's categories are lost; --overwrite draws "
		               "all texts anew and spends again");
	// What counts spent cannot be given back, nor pay for others.
	enum cuttle_status status = delivery_draw(delivery, error);
	if (!status)
		status = cuttle_histogram_count(
		    &setup->histogram, references->cluster, records_count(references->records),
		    request->plan.insecure ? &request->plan.insecure_seed : NULL, counts, error);
	return status ? status
	              : delivery_keep_counts(delivery, counts, setup->histogram.clusters, error);
}

/* The cluster of each record, by what its text says. */
static enum cuttle_status find_record_clusters(const struct setup *setup,
                                               const struct references *references,
                                               struct cuttle_error *error) {
	const size_t records = records_count(references->records);
	struct hidden_text texts[HIDDEN_TEXTS];
	enum cuttle_status status = CUTTLE_OK;
	for (size_t first = 0, some; !status && first < records; first += some) {
		some = records - first < HIDDEN_TEXTS ? records - first : HIDDEN_TEXTS;
		for (size_t i = 0; i < some; i++)
			texts[i].bytes =
			    records_text(references->records, first + i, &texts[i].size);
		status = clusters_find(&setup->clusters, setup->model, texts, some,
		                       references->cluster + first, error);
	}
	sodium_memzero(texts, sizeof texts);
	return status;
}

/* All owners are one cluster, in which each has one record. */
static void place_owners(struct references *references) {
	for (size_t i = 0; i < records_count(references->records); i++)
		references->cluster[i] = CUTTLE_NO_CLUSTER;
	for (size_t i = 0; i < references->counted_count; i++)
		references->cluster[references->counted[i]] = 0;
}

enum cuttle_status seats_take(const struct generate_request *request, struct setup *setup,
                              struct delivery *delivery, struct references *references,
                              struct cuttle_error *error) {
	const uint32_t clusters = setup->histogram.clusters;
	const size_t records = records_count(references->records);
	const int64_t *kept;
	setup->counts = calloc(clusters, sizeof *setup->counts);
	setup->seats = calloc(clusters, sizeof *setup->seats);
	references->cluster = calloc(records + 1, sizeof *references->cluster);
	if (!setup->counts || !setup->seats || !references->cluster)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = CUTTLE_OK;
	if (references->counted) place_owners(references);
	else if (setup->clusters.count) status = find_record_clusters(setup, references, error);
	else places_clusters(references->records, &setup->categories, references->cluster);
	if (status) return status;
	if (output_clusters(delivery->output, &kept) == clusters)
		memcpy(setup->counts, kept, clusters * sizeof *kept);
	else
		status =
		    draw_cluster_counts(request, setup, delivery, references, setup->counts, error);
	if (status) return status;
	setup->receipt.texts = (size_t)cuttle_histogram_deal(&setup->histogram, setup->lots.all,
	                                                     setup->receipt.guarantee.batch,
	                                                     setup->counts, setup->seats);
	output_shorten(delivery->output, setup->receipt.texts);
	for (uint32_t c = 0; setup->categories.count && c < clusters; c++)
		setup->categories.all[c].texts = (size_t)setup->seats[c].used;
	setup->receipt.counts_of_clusters = setup->counts;
	setup->receipt.seats = setup->seats;
	return CUTTLE_OK;
}
