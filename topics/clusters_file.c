// SPDX-License-Identifier: Apache-2.0
// One function says what the file holds behind its header, for writer and reader. The reader looks
// at sizes first, then at the hash, then at the content.
#include "topics/clusters_file.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[24] = "cuttle clusters 1\n";
enum {
	DIGEST = HASH_TEXT - 1, /* bytes of a hash in the file */
	MOST_BYTES = 64 << 20,  /* of a file */
	MOST_WIDTH = 1 << 16,   /* of a model */
	MOST_WEIGHT = 16 * 32,  /* more than any weight of a dimension */
	MOST_VALUE = 1 << 17    /* more than any number of a centre */
};

/* The file's beginning, as it lies in the file. */
struct clusters_header {
	char magic[sizeof magic];
	uint32_t by;    /* enum clusters_by */
	uint32_t count; /* k */
	uint32_t texts;
	uint32_t layer; /* these two by model alone */
	uint32_t width;
	uint32_t zero;
	char model_sha256[DIGEST];
};
_Static_assert(sizeof(struct clusters_header) == 112, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is read as it lies");

/* What stands behind the header: names, sizes, centres, first, mean, axes, weights. */
enum { PARTS = 7 };

/* The bytes of each part, 0 where the file lacks it, and all bytes of the file. */
static size_t measure_parts(const struct clusters_header *h, size_t sizes[PARTS]) {
	const size_t k = h->count, width = h->width;
	const bool words = h->by == CLUSTERS_BY_WORDS;
	const size_t list[PARTS] = {k * CLUSTERS_NAME,
	                            k * sizeof(uint32_t),
	                            k * sizeof(int32_t) *
	                                (words ? (size_t)TFIDF_WIDTH : (size_t)HIDDEN_WIDTH),
	                            width * sizeof(float),
	                            width * sizeof(float),
	                            width * sizeof(float) * HIDDEN_WIDTH,
	                            words ? TFIDF_WIDTH * sizeof(uint16_t) : 0};
	size_t all = sizeof *h + DIGEST;
	memcpy(sizes, list, sizeof list);
	for (size_t i = 0; i < PARTS; i++) all += list[i];
	return all;
}

enum cuttle_status clusters_file_write(const char *path, const struct clusters *clusters,
                                       char sha256[HASH_TEXT], struct cuttle_error *error) {
	const void *const parts[PARTS] = {clusters->names,        clusters->sizes,
	                                  clusters->centres.rows, clusters->hidden.first,
	                                  clusters->hidden.mean,  clusters->hidden.axes,
	                                  clusters->weights};
	struct clusters_header header = {.by = (uint32_t)clusters->by,
	                                 .count = (uint32_t)clusters->count,
	                                 .texts = (uint32_t)clusters->texts,
	                                 .layer = clusters->hidden.layer,
	                                 .width = clusters->hidden.width};
	memcpy(header.magic, magic, sizeof magic);
	memcpy(header.model_sha256, clusters->model_sha256, DIGEST);
	size_t sizes[PARTS];
	const size_t size = measure_parts(&header, sizes);
	char *bytes = malloc(size), *to = bytes;
	if (!bytes) return io_fail(error, CUTTLE_NOMEM, "out of memory for a clusters file");
	to = mempcpy(to, &header, sizeof header);
	for (size_t i = 0; i < PARTS; i++)
		if (sizes[i]) to = mempcpy(to, parts[i], sizes[i]);
	hash_of(bytes, size - DIGEST, sha256);
	memcpy(to, sha256, DIGEST);
	hash_of(bytes, size, sha256);
	struct sink sink;
	enum cuttle_status status = sink_open(&sink, path, error);
	if (!status) status = sink_close(&sink, sink_write(&sink, bytes, size, error), error);
	free(bytes);
	return status;
}

/* Whether the header is one that clusters_file_write wrote. */
static bool is_sound_header(const struct clusters_header *h) {
	const bool words = h->by == CLUSTERS_BY_WORDS;
	if (h->by > CLUSTERS_BY_MODEL || h->count < 2 || h->count > CLUSTERS_MOST || h->zero ||
	    h->texts > CENTRES_POINTS)
		return false;
	if (words != !h->layer || words != !h->width || h->width > MOST_WIDTH) return false;
	for (size_t i = 0; i < DIGEST; i++)
		if (words ? h->model_sha256[i] != 0
		          : !h->model_sha256[i] || !strchr("0123456789abcdef", h->model_sha256[i]))
			return false;
	return words || h->width >= HIDDEN_WIDTH;
}

/* Whether the whole file is one of ours: header, length, hash. sizes as measure_parts. */
static enum cuttle_status check_clusters_file(const char *path, const char *bytes, size_t size,
                                              struct clusters_header *header, size_t sizes[PARTS],
                                              char sha256[HASH_TEXT], struct cuttle_error *error) {
	memcpy(header, bytes, size < sizeof *header ? size : sizeof *header);
	if (size < sizeof *header || memcmp(header->magic, magic, sizeof magic) != 0)
		return io_fail(
		    error, CUTTLE_INPUT,
		    "%s is no clusters file; cuttle clusters makes one from public texts", path);
	if (!is_sound_header(header))
		return io_fail(error, CUTTLE_INPUT, "%s: its first bytes are damaged", path);
	const size_t wanted = measure_parts(header, sizes);
	if (size != wanted)
		return io_fail(error, CUTTLE_INPUT, "%s has %zu bytes instead of %zu: it is %s",
		               path, size, wanted, size < wanted ? "cut short" : "too long");
	if (hash_sealed(bytes, size, sha256)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               "%s is damaged: its content does not have the hash at its end", path);
}

static bool are_finite(const float *numbers, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i])) return false;
	return true;
}

static bool is_sound_name(const char name[CLUSTERS_NAME]) {
	const size_t size = strnlen(name, CLUSTERS_NAME);
	if (size == CLUSTERS_NAME || !utf8_name(name, size)) return false;
	for (size_t i = size; i < CLUSTERS_NAME; i++)
		if (name[i]) return false;
	return true;
}

/* Whether the content is such as clusters_make makes. So later products fit their integers. */
static bool is_sound_content(const struct clusters *clusters) {
	uint64_t texts = 0;
	for (size_t j = 0; j < clusters->count; j++) {
		if (!clusters->sizes[j] || !is_sound_name(clusters->names[j])) return false;
		texts += clusters->sizes[j];
	}
	if (texts != clusters->texts) return false;
	for (size_t i = 0; i < clusters->centres.width * clusters->count; i++)
		if (clusters->centres.rows[i] > MOST_VALUE ||
		    clusters->centres.rows[i] < -MOST_VALUE)
			return false;
	for (size_t i = 0; clusters->weights && i < TFIDF_WIDTH; i++)
		if (clusters->weights[i] > MOST_WEIGHT) return false;
	const size_t width = clusters->hidden.width;
	return are_finite(clusters->hidden.first, width) &&
	       are_finite(clusters->hidden.mean, width) &&
	       are_finite(clusters->hidden.axes, HIDDEN_WIDTH * width);
}

/* Takes the content of a file whose header, length and hash are right. */
static enum cuttle_status take_content(const char *path, const char *bytes,
                                       const struct clusters_header *h, const size_t sizes[PARTS],
                                       struct clusters *clusters, struct cuttle_error *error) {
	const char *from = bytes + sizeof *h;
	void *parts[PARTS] = {NULL};
	bool made = true;
	for (size_t i = 0; i < PARTS; i++) {
		if (sizes[i]) made &= (parts[i] = malloc(sizes[i])) != NULL;
		if (parts[i]) memcpy(parts[i], from, sizes[i]);
		from += sizes[i];
	}
	*clusters = (struct clusters){
	    .by = (enum clusters_by)h->by,
	    .count = h->count,
	    .texts = h->texts,
	    .names = parts[0],
	    .sizes = parts[1],
	    .centres = {h->count, parts[6] ? (size_t)TFIDF_WIDTH : (size_t)HIDDEN_WIDTH, parts[2]},
	    .hidden = {h->layer, h->width, parts[3], parts[4], parts[5]},
	    .weights = parts[6]};
	memcpy(clusters->model_sha256, h->model_sha256, DIGEST);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory for a clusters file");
	if (is_sound_content(clusters)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT, "%s holds what no clusters file holds", path);
}

enum cuttle_status clusters_file_read(const char *path, struct clusters *clusters,
                                      char sha256[HASH_TEXT], struct cuttle_error *error) {
	struct clusters_header header = {.count = 0};
	size_t size, sizes[PARTS];
	char *bytes;
	*clusters = (struct clusters){.count = 0};
	enum cuttle_status status = file_read(path, MOST_BYTES, &bytes, &size, error);
	if (status) return status;
	path = file_shown(path);
	status = check_clusters_file(path, bytes, size, &header, sizes, sha256, error);
	if (!status) status = take_content(path, bytes, &header, sizes, clusters, error);
	free(bytes);
	if (status) clusters_free(clusters);
	return status;
}
