// SPDX-License-Identifier: Apache-2.0
// How text_set.h works: 16 texts at a time go through the model, so that all cores have work, and
// then into the file. An evaluation that is stopped loses at most so many. References that answer
// through noise have no file: its size would tell how many of them differ.
#include "workflow/text_set.h"

#include "base/misuse.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "io/text/fold.h"
#include "io/tables/npy.h"
#include "io/output/output.h"
#include "measure/scratch.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOGETHER = 16 }; /* texts that go through the model at once */

static enum cuttle_status fail_set_memory(const struct text_set *set, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_NOMEM, "out of memory for the texts of %s",
	               file_shown(set->path));
}

/* Reads the records, and makes room for the numbers of those that count. */
static enum cuttle_status read_set(const struct records_request *request, bool all,
                                   struct text_set *set, struct cuttle_error *error) {
	*set = (struct text_set){
	    .path = request->path, .owned = request->id_field != NULL, .cut = request->most > 0};
	const enum cuttle_status status = records_read(request, &set->records, error);
	if (status) return status;
	const size_t count = records_count(set->records);
	set->record = calloc(count + 1, sizeof *set->record);
	if (!set->record) return fail_set_memory(set, error);
	for (size_t i = 0; i < count; i++)
		if (all || records_state(set->records, i) == RECORD_READABLE)
			set->record[set->count++] = i;
	set->unreadable = count - set->count;
	set->perplexity = scratch_make(set->count, sizeof *set->perplexity);
	set->tokens = scratch_make(set->count, sizeof *set->tokens);
	return set->perplexity && set->tokens ? CUTTLE_OK : fail_set_memory(set, error);
}

enum cuttle_status text_set_read(const char *path, const char *field, const char *task,
                                 struct text_set *set, struct cuttle_error *error) {
	const char *const labels[TEXT_SET_LABELS] = {task ? task : "finish", "finish", "note"};
	const struct records_request request = {.path = path,
	                                        .field = field,
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = TEXT_SET_LABELS};
	enum cuttle_status status = read_set(&request, false, set, error);
	struct stat file;
	if (!status)
		status = records_need_field(&request, set->records,
		                            "--text-field or --against-field", error);
	// Receipts name an output by this hash. A pipe cannot be read twice.
	if (!status && stat(path, &file) == 0 && S_ISREG(file.st_mode))
		return hash_file(path, set->sha256, error);
	return status;
}

/* Reads every record, whatever it is. */
static enum cuttle_status read_every(const struct records_request *request, const char *option,
                                     struct text_set *set, struct cuttle_error *error) {
	const enum cuttle_status status = read_set(request, true, set, error);
	set->labels = request->label_count;
	return status ? status : records_need_field(request, set->records, option, error);
}

enum cuttle_status text_set_read_all(const char *path, const char *field, const char *option,
                                     const char *unit_key, const char *const *labels,
                                     size_t label_count, struct text_set *set,
                                     struct cuttle_error *error) {
	const struct records_request request = {.path = path,
	                                        .field = field,
	                                        .id_field = unit_key,
	                                        .id_is_owner = true,
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = label_count,
	                                        .most = TEXT_SET_MOST};
	return read_every(&request, option, set, error);
}

/* Reads a system's input, as the request says. */
static enum cuttle_status read_input(const struct common_request *common,
                                     struct records_request request, size_t most_records,
                                     struct text_set *set, struct cuttle_error *error) {
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	request.path = common->input;
	request.id_field = common->unit_key;
	request.id_is_owner = true;
	request.limit = SIZE_MAX;
	request.most = TEXT_SET_MOST;
	if (!status) status = read_every(&request, "--text-field", set, error);
	if (status) return status;
	if (common->lock) records_lock(set->records);
	if (set->count && set->count <= most_records) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               set->count ? "%s: there are too many records"
	                          : "%s: there is no record in it",
	               file_shown(common->input));
}

enum cuttle_status text_set_read_input(const struct common_request *common, const char *field,
                                       const char *const *labels, size_t label_count,
                                       size_t most_records, struct text_set *set,
                                       struct cuttle_error *error) {
	const struct records_request request = {
	    .field = field, .labels = labels, .label_count = label_count};
	return read_input(common, request, most_records, set, error);
}

enum cuttle_status text_set_read_objects(const struct common_request *common,
                                         const struct schema *schema, const char *const *labels,
                                         size_t label_count, size_t most_records,
                                         struct text_set *set, struct cuttle_error *error) {
	const struct records_request request = {
	    .field = "text", .schema = schema, .labels = labels, .label_count = label_count};
	return read_input(common, request, most_records, set, error);
}

void text_set_digest(const struct text_set *set, const unsigned char *key, char *digest) {
	struct binding_digest made;
	binding_digest_begin(&made, key);
	for (size_t i = 0; i < records_count(set->records); i++) {
		size_t size;
		const char *bytes = records_text(set->records, i, &size);
		binding_digest_add(&made, bytes, size);
		bytes = records_id(set->records, i, &size);
		binding_digest_add(&made, bytes, size);
		for (size_t label = 0; label < set->labels; label++) {
			bytes = records_label(set->records, i, label, &size);
			binding_digest_add(&made, bytes, size);
		}
	}
	binding_digest_end(&made, digest);
}

bool text_set_owner(void *user, uint64_t index, const char **value, size_t *size) {
	const struct text_set *set = user;
	*value = records_id(set->records, (size_t)index, size);
	return *value != NULL;
}

void text_set_free(struct text_set *set) {
	records_free(&set->records);
	free(set->record);
	scratch_free(set->vectors);
	scratch_free(set->perplexity);
	scratch_free(set->tokens);
	scratch_free(set->ids);
	scratch_free(set->first);
	*set = (struct text_set){0};
}

const char *text_set_text(const struct text_set *set, size_t i, size_t *size) {
	const size_t record = set->record[i];
	const bool counts = records_state(set->records, record) == RECORD_READABLE &&
	                    (!set->owned || records_id(set->records, record, size));
	*size = 0;
	return counts ? records_text(set->records, record, size) : "";
}

const char *text_set_label(const struct text_set *set, size_t i, size_t label, size_t *size) {
	return records_label(set->records, set->record[i], label, size);
}

/* Whether the receipt beside a file has this note. What is no receipt has none. */
static bool receipt_says(const char *path, const char *stamp) {
	char *beside = strcmp(path, "-") != 0 ? output_receipt_beside(path) : NULL;
	json_t *root = beside ? json_load_file(beside, 0, NULL) : NULL;
	const char *note = json_string_value(json_object_get(root, "note"));
	const bool says = note && !strncmp(note, stamp, strlen(stamp));
	json_decref(root);
	free(beside);
	return says;
}

bool text_set_unprotected(const struct text_set *set) {
	static const char stamp[] = "NOT PRIVATE";
	size_t size;
	if (receipt_says(set->path, stamp)) return true;
	for (size_t i = 0; i < set->count; i++) {
		const char *note = text_set_label(set, i, TEXT_SET_NOTE, &size);
		if (note && size >= sizeof stamp - 1 && !memcmp(note, stamp, sizeof stamp - 1))
			return true;
	}
	return false;
}

/* ---- equal texts ----------------------------------------------------------------------------- */

struct sorted_text {
	const char *text;
	size_t size;
};

static int compare_sorted_texts(const void *one, const void *other) {
	const struct sorted_text *a = one, *b = other;
	if (a->size != b->size) return a->size < b->size ? -1 : 1;
	return a->size ? memcmp(a->text, b->text, a->size) : 0;
}

/* Folds the texts of a set, one behind the other. sorted[i] says where text i is. False: out of
 * memory. */
static bool fold_set(const struct text_set *set, struct folded *folded, struct arena *bytes,
                     struct sorted_text *sorted) {
	for (size_t i = 0; i < set->count; i++) {
		size_t size;
		const char *text = text_set_text(set, i, &size);
		fold_trim(&text, &size);
		if (!fold_text(folded, text, size) ||
		    !arena_append(bytes, folded->text.bytes, folded->text.used))
			return false;
		sorted[i].size = folded->text.used;
	}
	// The arena moves no more.
	const char *at = bytes->bytes ? bytes->bytes : "";
	for (size_t i = 0; i < set->count; at += sorted[i++].size) sorted[i].text = at;
	return true;
}

enum cuttle_status text_set_meet(const struct text_set *one, const struct text_set *other,
                                 bool *found, struct cuttle_error *error) {
	struct sorted_text *sorted = scratch_make(one->count, sizeof *sorted);
	struct folded folded = {.size = 0};
	struct arena bytes = {0};
	*found = false;
	bool good = sorted && fold_set(one, &folded, &bytes, sorted);
	if (good) qsort(sorted, one->count, sizeof *sorted, compare_sorted_texts);
	for (size_t i = 0; good && i < other->count && !*found; i++) {
		struct sorted_text wanted;
		wanted.text = text_set_text(other, i, &wanted.size);
		fold_trim(&wanted.text, &wanted.size);
		good = fold_text(&folded, wanted.text, wanted.size);
		wanted.text = folded.text.bytes;
		wanted.size = folded.text.used;
		*found = good && bsearch(&wanted, sorted, one->count, sizeof *sorted,
		                         compare_sorted_texts) != NULL;
	}
	scratch_free(sorted);
	arena_free(&bytes);
	fold_free(&folded);
	return good ? CUTTLE_OK : fail_set_memory(one, error);
}

/* ---- vectors of others ----------------------------------------------------------------------- */

enum cuttle_status text_set_import(struct text_set *set, const char *path,
                                   struct cuttle_error *error) {
	struct npy npy;
	enum cuttle_status status = npy_read(path, &npy, error);
	if (status) return status;
	if (npy.count != records_count(set->records))
		status =
		    io_fail(error, CUTTLE_INPUT,
		            "%s has %zu rows, and %s %zu records: each record needs a row", path,
		            npy.count, file_shown(set->path), records_count(set->records));
	set->width = npy.width;
	if (!status) set->vectors = scratch_make(set->count * npy.width, sizeof *set->vectors);
	if (!status && !set->vectors) status = fail_set_memory(set, error);
	for (size_t i = 0; i < set->count && !status; i++)
		memcpy(set->vectors + i * npy.width, npy.rows + set->record[i] * npy.width,
		       npy.width * sizeof *set->vectors);
	npy_free(&npy);
	return status;
}

/* ---- what a model makes of them -------------------------------------------------------------- */

/* Texts that go through the model at once. */
struct text_slice {
	struct text_set *set;
	struct cuttle_model *model;
	struct feature_file *file; /* NULL: numbers go into the set at once */
	size_t width;              /* numbers of a vector; 0 = vectors were imported */
	size_t context;            /* tokens, at most */
	bool bos;                  /* texts begin with BOS */
	int32_t bos_id;
	size_t count;           /* texts collected */
	size_t of[TOGETHER];    /* their numbers in the set */
	int32_t *ids[TOGETHER]; /* tokens of each */
	struct cuttle_embed_text texts[TOGETHER];
	double *vectors; /* [TOGETHER][width] */
	float *vector;   /* [width] */
};

static enum cuttle_status tokenize_in_slice(struct text_slice *slice, size_t i,
                                            struct cuttle_error *error) {
	size_t size, count;
	const char *text = text_set_text(slice->set, i, &size);
	// Of a text that is cut neither the room nor a failure depends on what it says.
	const bool cut = slice->set->cut;
	const size_t capacity = cuttle_tokens_bound(cut ? TEXT_SET_MOST : size);
	int32_t *ids = scratch_make(capacity, sizeof *ids);
	if (!ids) return fail_set_memory(slice->set, error);
	slice->of[slice->count] = i;
	slice->ids[slice->count] = ids;
	slice->texts[slice->count++].ids = ids;
	const enum cuttle_status status = cuttle_tokenize(slice->model, text, size, true, ids,
	                                                  capacity, &count, cut ? NULL : error);
	slice->texts[slice->count - 1].count = status ? 0 : count;
	return cut ? CUTTLE_OK : status;
}

static bool text_has_bos(const struct text_slice *slice, const struct cuttle_embed_text *text) {
	return slice->bos && text->count && text->ids[0] == slice->bos_id;
}

/* Sets *perplexity of the text's first tokens; NaN where the model has no finite number. */
static enum cuttle_status measure_perplexity(struct text_slice *slice,
                                             const struct cuttle_embed_text *text,
                                             double *perplexity, struct cuttle_error *error) {
	const size_t most = CUTTLE_EMBED_TOKENS + (size_t)text_has_bos(slice, text);
	size_t count = text->count < most ? text->count : most;
	if (count > slice->context) count = slice->context;
	*perplexity = NAN;
	if (count < 2) return CUTTLE_OK;
	double *logprobs = scratch_make(count, sizeof *logprobs), sum = 0.0;
	int32_t *top1 = scratch_make(count, sizeof *top1);
	enum cuttle_status status = CUTTLE_NOMEM;
	if (!logprobs || !top1) (void)fail_set_memory(slice->set, error);
	else status = cuttle_score(slice->model, text->ids, count, logprobs, top1, error);
	for (size_t i = 0; i + 1 < count && !status; i++) sum += logprobs[i];
	if (!status) *perplexity = exp(-sum / (double)(count - 1));
	if (!isfinite(*perplexity)) *perplexity = NAN;
	scratch_free(logprobs);
	scratch_free(top1);
	// A text that the model has no finite number for is no reason to end.
	return status == CUTTLE_MODEL ? CUTTLE_OK : status;
}

/* Room for the vectors of the set, unless they were imported. */
static enum cuttle_status make_set_vectors(struct text_slice *slice, struct cuttle_error *error) {
	struct text_set *set = slice->set;
	if (!slice->width) return CUTTLE_OK;
	set->width = slice->width;
	set->vectors = scratch_make(set->count * set->width, sizeof *set->vectors);
	return set->vectors ? CUTTLE_OK : fail_set_memory(set, error);
}

static void take_feature(struct text_slice *slice, size_t i, const struct feature *feature) {
	struct text_set *set = slice->set;
	set->perplexity[i] = feature->perplexity;
	set->tokens[i] = (double)feature->tokens;
	if (slice->width)
		memcpy(set->vectors + i * set->width, feature->vector,
		       set->width * sizeof *set->vectors);
}

/* Runs the collected texts through the model, and into the file or the set. */
static enum cuttle_status flush_slice(struct text_slice *slice, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (slice->width && slice->count)
		status = cuttle_embed(slice->model, slice->texts, slice->count, 0, slice->vectors,
		                      error);
	for (size_t i = 0; i < slice->count && !status; i++) {
		struct feature feature, twin;
		size_t size;
		const char *text = text_set_text(slice->set, slice->of[i], &size);
		// An equal text of this slice may have been added just now.
		if (slice->file && feature_file_find(slice->file, text, size, &twin)) continue;
		feature.tokens = slice->texts[i].count - text_has_bos(slice, &slice->texts[i]);
		feature.vector = slice->vector;
		for (size_t k = 0; k < slice->width; k++)
			slice->vector[k] = (float)slice->vectors[i * slice->width + k];
		status = measure_perplexity(slice, &slice->texts[i], &feature.perplexity, error);
		if (!status && !slice->file) take_feature(slice, slice->of[i], &feature);
		else if (!status)
			status = feature_file_add(slice->file, text, size, &feature, error);
	}
	for (size_t i = 0; i < slice->count; i++) {
		scratch_free(slice->ids[i]);
		slice->texts[i] = (struct cuttle_embed_text){0};
	}
	slice->count = 0;
	return status;
}

/* Measures every text whose numbers are not in the file. */
static enum cuttle_status measure_slices(struct text_slice *slice,
                                         const struct text_set_events *events,
                                         struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	size_t told = 0;
	for (size_t i = 0; i < slice->set->count && !status; i++) {
		struct feature feature;
		size_t size;
		const char *text = text_set_text(slice->set, i, &size);
		if (!slice->file || !feature_file_find(slice->file, text, size, &feature))
			status = tokenize_in_slice(slice, i, error);
		const bool last = i + 1 == slice->set->count;
		if (status || (slice->count < TOGETHER && !last)) continue;
		status = flush_slice(slice, error);
		if (status) break;
		events->done(events->user, i + 1 - told);
		told = i + 1;
		if (events->stop(events->user))
			return io_fail(error, CUTTLE_PARTIAL, "stopped before the end");
	}
	// After a failure the ids of the texts under way are still to be freed.
	const size_t count = slice->count;
	for (size_t i = 0; i < count; i++) scratch_free(slice->ids[i]);
	return status;
}

/* Copies from the file to the set. */
static enum cuttle_status take_from_file(struct text_slice *slice, struct cuttle_error *error) {
	struct text_set *set = slice->set;
	const enum cuttle_status status = make_set_vectors(slice, error);
	if (status) return status;
	for (size_t i = 0; i < set->count; i++) {
		struct feature feature;
		size_t size;
		const char *text = text_set_text(set, i, &size);
		if (feature_file_find(slice->file, text, size, &feature))
			take_feature(slice, i, &feature);
	}
	return CUTTLE_OK;
}

enum cuttle_status text_set_measure(struct text_set *set, struct cuttle_model *model,
                                    struct feature_file *file, const struct text_set_events *events,
                                    struct cuttle_error *error) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	struct text_slice slice = {.set = set,
	                           .model = model,
	                           .file = file,
	                           .width = set->vectors ? 0 : info.width,
	                           .context = info.context,
	                           .bos = info.add_bos,
	                           .bos_id = info.bos};
	slice.vectors = scratch_make(TOGETHER * slice.width, sizeof *slice.vectors);
	slice.vector = scratch_make(slice.width, sizeof *slice.vector);
	enum cuttle_status status = slice.vectors && slice.vector ? CUTTLE_OK : CUTTLE_NOMEM;
	if (status) (void)fail_set_memory(set, error);
	if (!status && !file) status = make_set_vectors(&slice, error);
	if (!status) status = measure_slices(&slice, events, error);
	if (!status && file) status = take_from_file(&slice, error);
	scratch_free(slice.vectors);
	scratch_free(slice.vector);
	return status;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Tokens of a text that are kept. */
static size_t count_kept_tokens(const struct text_set *set, size_t i) {
	const double tokens = set->tokens[i];
	return tokens < CUTTLE_EMBED_TOKENS ? (size_t)tokens : CUTTLE_EMBED_TOKENS;
}

static enum cuttle_status keep_tokens(struct text_set *set, struct cuttle_model *model,
                                      const struct cuttle_model_info *info, size_t i,
                                      struct cuttle_error *error) {
	size_t size, count;
	const char *text = text_set_text(set, i, &size);
	const size_t capacity = cuttle_tokens_bound(size), kept = count_kept_tokens(set, i);
	int32_t *ids = scratch_make(capacity, sizeof *ids);
	if (!ids) return fail_set_memory(set, error);
	enum cuttle_status status =
	    cuttle_tokenize(model, text, size, false, ids, capacity, &count, error);
	// What is in the file is what another command measured.
	if (!status && count < kept)
		status = io_fail(error, CUTTLE_INPUT,
		                 "%s: a text has other tokens than when it was measured",
		                 file_shown(set->path));
	for (size_t t = 0; t < kept && !status; t++) {
		REQUIRE(ids[t] >= 0 && (uint32_t)ids[t] < info->vocab);
		set->ids[set->first[i] + t] = (uint32_t)ids[t];
	}
	scratch_free(ids);
	return status;
}

enum cuttle_status text_set_tokenize(struct text_set *set, struct cuttle_model *model,
                                     struct cuttle_error *error) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	set->first = scratch_make(set->count + 1, sizeof *set->first);
	if (!set->first) return fail_set_memory(set, error);
	for (size_t i = 0; i < set->count; i++)
		set->first[i + 1] = set->first[i] + count_kept_tokens(set, i);
	set->ids = scratch_make(set->first[set->count], sizeof *set->ids);
	enum cuttle_status status = set->ids ? CUTTLE_OK : fail_set_memory(set, error);
	for (size_t i = 0; i < set->count && !status; i++)
		status = keep_tokens(set, model, &info, i, error);
	return status;
}
