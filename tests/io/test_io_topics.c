// SPDX-License-Identifier: Apache-2.0
// Tests topics/clusters and what stands below it. It fails if a text's cluster depends on another
// text, on its place, or on what was asked before; if a null text has one; if a tie goes upward; if
// integers differ from those of hashlib and Python; or if clusters are taken that lack texts.
#include "topics/clusters.h"
#include "topics/topics.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH "public.jsonl"
enum { TOPICS = 3, EACH = 24, TEXTS = TOPICS * EACH, TOPIC_WORDS = 8, PRIVATE = 40 };

static const char *const vocabulary[TOPICS][TOPIC_WORDS] = {
    {"harbour", "sail", "anchor", "tide", "rope", "captain", "deck", "wave"},
    {"oven", "flour", "butter", "dough", "sugar", "whisk", "crust", "yeast"},
    {"piano", "violin", "chord", "melody", "rhythm", "cello", "tempo", "choir"}};

/* A text of five words of a topic, and three that all topics have. */
static void write_text_of(uint64_t *stream, size_t topic, char *text, size_t room) {
	int length = 0;
	for (int i = 0; i < 5; i++)
		length += snprintf(text + length, room - (size_t)length, "%s ",
		                   vocabulary[topic][tiny_random(stream) % TOPIC_WORDS]);
	(void)snprintf(text + length, room - (size_t)length, "and the %s",
	               tiny_random(stream) % 2 ? "old" : "new");
}

/* Writes the public file: texts of the topics in turn. */
static void write_public(size_t count) {
	uint64_t stream = 7;
	FILE *file = fopen(PATH, "w");
	assert_non_null(file);
	for (size_t i = 0; i < count; i++) {
		char text[256];
		write_text_of(&stream, i % TOPICS, text, sizeof text);
		fprintf(file, "{\"text\":\"%s\"}\n", text);
	}
	assert_int_equal(fclose(file), 0);
}

static struct records *read_public(void) {
	const struct records_request request = {.path = PATH, .field = "text", .limit = SIZE_MAX};
	struct records *records;
	struct cuttle_error error = {""};
	if (records_read(&request, &records, &error)) fail_msg("%s", error.message);
	return records;
}

static enum cuttle_status try_clusters(size_t count, struct cuttle_model *model,
                                       struct clusters *clusters, struct cuttle_error *error) {
	static const char sha256[] =
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct records *records = read_public();
	const struct clusters_request request = {.records = records,
	                                         .path = PATH,
	                                         .field = "text",
	                                         .count = count,
	                                         .by =
	                                             model ? CLUSTERS_BY_MODEL : CLUSTERS_BY_WORDS,
	                                         .model = model,
	                                         .model_sha256 = model ? sha256 : NULL,
	                                         .threads = 1};
	const enum cuttle_status status = clusters_make(&request, clusters, error);
	records_free(&records);
	return status;
}

static struct clusters make_topics(struct cuttle_model *model) {
	struct clusters clusters;
	struct cuttle_error error = {""};
	write_public(TEXTS);
	if (try_clusters(TOPICS, model, &clusters, &error)) fail_msg("%s", error.message);
	return clusters;
}

static uint32_t find_one(const struct clusters *clusters, struct cuttle_model *model,
                         const char *bytes, size_t size) {
	const struct hidden_text text = {bytes, size};
	struct cuttle_error error = {""};
	uint32_t found = 12345;
	if (clusters_find(clusters, model, &text, 1, &found, &error)) fail_msg("%s", error.message);
	return found;
}

/* Numbers of Python: round(16 log2 x), and BLAKE2b-64 of hashlib. */
static void test_logarithms_and_words(void **state) {
	(void)state;
	for (uint32_t above = 1; above < 3000; above++)
		for (uint32_t below = 1; below <= above && below < 40; below++)
			assert_int_equal(tfidf_log(above, below),
			                 (int)floor(16 * log2((double)above / below) + 0.5));
	assert_int_equal(tfidf_log((1u << 30) - 1, 1), 480);
	const char *text = "It's 5 CM, na\xc3\xafve";
	size_t size = strlen(text);
	struct tfidf_word word;
	static const struct {
		uint64_t hash;
		size_t size;
	} wanted[] = {{UINT64_C(0xd284d8dec496f507), 2},
	              {UINT64_C(0xde6ecfaac38449e6), 1},
	              {UINT64_C(0xbc035b6d12542b1d), 2},
	              {UINT64_C(0xdc4cebee9268f2be), 6}};
	for (size_t i = 0; i < 4; i++) {
		assert_true(tfidf_next(&text, &size, &word));
		assert_true(word.hash == wanted[i].hash);
		assert_int_equal(word.size, wanted[i].size);
	}
	assert_false(tfidf_next(&text, &size, &word));
	assert_int_equal(size, 0);
	// A word of more bytes than are hashed at once.
	char lower[200], upper[200];
	memset(lower, 'q', sizeof lower);
	memset(upper, 'Q', sizeof upper);
	const char *a = lower, *b = upper;
	size_t left = sizeof lower, right = sizeof upper;
	struct tfidf_word other;
	assert_true(tfidf_next(&a, &left, &word) && tfidf_next(&b, &right, &other));
	assert_true(word.hash == other.hash && word.size == sizeof lower);
}

/* Worked by hand. df 2 of 3 texts: weight round(16 log2(4/3)) = 7. Three times: 32; once: 16. */
static void test_feature(void **state) {
	(void)state;
	struct tfidf_work work = {.seen_count = 0};
	static const struct tfidf_work zero;
	uint32_t df[TFIDF_WIDTH] = {0};
	uint16_t weights[TFIDF_WIDTH];
	static const char *const texts[] = {"it cm", "it IT cm", "s"};
	for (size_t i = 0; i < 3; i++) tfidf_count(texts[i], strlen(texts[i]), &work, df);
	tfidf_weigh(df, 3, weights);
	assert_int_equal(df[1287], 2);
	assert_int_equal(weights[1287], 7);
	assert_int_equal(weights[2845], 7);
	assert_int_equal(weights[2534], 0);
	struct text_feature feature;
	tfidf_feature(weights, "it it it cm s s", 15, &work, &feature);
	// v = (224, 112), root = floor(sqrt(62720)) = 250, u = floor(32768 v / 250).
	assert_int_equal(feature.count, 2);
	assert_int_equal(feature.at[0], 1287);
	assert_int_equal(feature.value[0], 29360);
	assert_int_equal(feature.at[1], 2845);
	assert_int_equal(feature.value[1], 14680);
	assert_memory_equal(&work, &zero, sizeof work);
	tfidf_feature(weights, "s unheard", 9, &work, &feature);
	assert_int_equal(feature.count, 0);
	// 300 times count as 255: log(256) = 128, as for no other number of times.
	char many[900];
	for (size_t i = 0; i < 300; i++) memcpy(many + 3 * i, "it ", 3);
	tfidf_feature(weights, many, sizeof many, &work, &feature);
	assert_int_equal(feature.count, 1);
	assert_int_equal(feature.value[0], FEATURE_ONE);
	// Only the first 512 words count.
	char *late = malloc(2 * 512 + 3);
	for (size_t i = 0; i < 512; i++) memcpy(late + 2 * i, "s ", 2);
	memcpy(late + 1024, "it", 2);
	tfidf_feature(weights, late, 1026, &work, &feature);
	assert_int_equal(feature.count, 0);
	tfidf_feature(weights, late + 2, 1024, &work, &feature);
	assert_int_equal(feature.count, 1);
	free(late);
}

static void test_root(void **state) {
	(void)state;
	static const uint64_t some[] = {0, 1, 2, 3, 4, 15, 16, 17, UINT64_C(1) << 62, UINT64_MAX};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		const uint64_t root = feature_root(some[i]);
		assert_true(root * root <= some[i]);
		assert_true(root == UINT32_MAX || (root + 1) * (root + 1) > some[i]);
	}
}

static void put_entry(struct text_feature *feature, uint16_t at, int32_t value) {
	feature->at[feature->count] = at;
	feature->value[feature->count++] = value;
}

/* Two equal centres: the lower number; and a feature without entries has none. */
static void test_ties(void **state) {
	(void)state;
	int32_t rows[] = {0, 100, 100, 5, 0, 0};
	const struct centres centres = {3, 2, rows};
	struct text_feature feature = {.count = 0};
	assert_int_equal(centres_nearest(&centres, &feature), CENTRES_NONE);
	put_entry(&feature, 0, 9);
	assert_int_equal(centres_nearest(&centres, &feature), 1);
	feature.value[0] = -9;
	assert_int_equal(centres_nearest(&centres, &feature), 0);
	feature.at[0] = 1;
	feature.value[0] = 9;
	assert_int_equal(centres_nearest(&centres, &feature), 0);
	feature.value[0] = -9;
	assert_int_equal(centres_nearest(&centres, &feature), 1);
}

/* Forty points around each of five axes: a centre for each axis. No cluster stays empty, though all
 * points of one axis are equal. */
static void test_centres(void **state) {
	(void)state;
	enum { AXES = 5, POINTS = 200 };
	struct text_feature *points = calloc(POINTS, sizeof *points);
	uint64_t stream = 3;
	for (size_t i = 0; i < POINTS; i++) {
		put_entry(&points[i], (uint16_t)(i % AXES), i % AXES ? 32000 : FEATURE_ONE);
		if (i % AXES) put_entry(&points[i], AXES, (int32_t)(tiny_random(&stream) % 8000));
	}
	struct centres centres;
	struct cuttle_error error = {""};
	uint32_t clusters[POINTS];
	assert_int_equal(centres_make(points, POINTS, AXES, AXES + 1, &centres, clusters, &error),
	                 CUTTLE_OK);
	size_t seen = 0;
	for (size_t i = 0; i < POINTS; i++) {
		assert_int_equal(clusters[i], clusters[i % AXES]);
		assert_int_equal(clusters[i], centres_nearest(&centres, &points[i]));
		seen |= (size_t)1 << clusters[i];
	}
	assert_int_equal(seen, (1 << AXES) - 1);
	// A centre has length one.
	for (size_t j = 0; j < AXES; j++) {
		double square = 0;
		for (size_t i = 0; i <= AXES; i++)
			square += pow((double)centres.rows[i * AXES + j] / FEATURE_ONE, 2);
		assert_true(fabs(square - 1) < 1e-3);
	}
	centres_free(&centres);
	// As many different directions as centres, and points on few of them: all are found.
	for (size_t i = 0; i < POINTS; i++) {
		points[i].count = 0;
		put_entry(&points[i], (uint16_t)(i < 196 ? 0 : i - 195), FEATURE_ONE);
	}
	assert_int_equal(centres_make(points, POINTS, AXES, AXES + 1, &centres, clusters, &error),
	                 CUTTLE_OK);
	seen = 0;
	for (size_t i = 0; i < POINTS; i++) seen |= (size_t)1 << clusters[i];
	assert_int_equal(seen, (1 << AXES) - 1);
	centres_free(&centres);
	free(points);
}

static void test_topics_are_found(void **state) {
	(void)state;
	struct clusters clusters = make_topics(NULL);
	uint32_t of_topic[TOPICS];
	uint64_t stream = 99;
	assert_int_equal(clusters.texts, TEXTS);
	for (size_t topic = 0; topic < TOPICS; topic++) {
		of_topic[topic] =
		    find_one(&clusters, NULL, vocabulary[topic][0], strlen(vocabulary[topic][0]));
		assert_true(of_topic[topic] < TOPICS);
		assert_int_equal(clusters.sizes[of_topic[topic]], EACH);
		// All words of the name are the topic's.
		char name[CLUSTERS_NAME];
		size_t words = 0;
		memcpy(name, clusters.names[of_topic[topic]], sizeof name);
		for (char *rest = name, *word; (word = strsep(&rest, " ")); words++) {
			bool known = false;
			for (size_t i = 0; i < TOPIC_WORDS; i++)
				known |= !strcmp(word, vocabulary[topic][i]);
			assert_true(known);
		}
		assert_int_equal(words, CLUSTERS_WORDS);
	}
	for (size_t i = 0; i < 60; i++) {
		char text[256];
		write_text_of(&stream, i % TOPICS, text, sizeof text);
		assert_int_equal(find_one(&clusters, NULL, text, strlen(text)),
		                 of_topic[i % TOPICS]);
	}
	clusters_free(&clusters);
}

/* The same file, whatever stands beside the texts of a call, in whatever order they come, and
 * whatever was asked before. Null texts have no cluster. */
static void check_isolation(struct cuttle_model *model) {
	struct clusters clusters = make_topics(model);
	struct hidden_text texts[PRIVATE], turned[PRIVATE];
	uint32_t alone[PRIVATE], found[PRIVATE];
	static char bytes[PRIVATE][256];
	struct cuttle_error error = {""};
	uint64_t stream = 5;
	const size_t cells = clusters.centres.width * clusters.count;
	int32_t *rows = malloc(cells * sizeof *rows);
	uint16_t weights[TFIDF_WIDTH] = {0};
	memcpy(rows, clusters.centres.rows, cells * sizeof *rows);
	if (clusters.weights) memcpy(weights, clusters.weights, sizeof weights);
	for (size_t i = 0; i < PRIVATE; i++) {
		write_text_of(&stream, i % TOPICS, bytes[i], sizeof bytes[i]);
		texts[i] = (struct hidden_text){bytes[i], strlen(bytes[i])};
	}
	texts[3] = (struct hidden_text){NULL, 0};
	texts[4] = (struct hidden_text){"", 0};
	texts[5] = (struct hidden_text){" \n\t ", 4};
	texts[6] = (struct hidden_text){"sail \xff", 6};
	for (size_t i = 0; i < PRIVATE; i++)
		alone[i] = find_one(&clusters, model, texts[i].bytes, texts[i].size);
	for (size_t i = 3; i < 7; i++) assert_int_equal(alone[i], CLUSTERS_NONE);
	if (!model) {
		// No word that public texts have: no direction.
		assert_int_equal(find_one(&clusters, NULL, "unheard of", 10), CLUSTERS_NONE);
		assert_int_equal(find_one(&clusters, NULL, "12 34", 5), CLUSTERS_NONE);
	}
	bool differ = false;
	for (size_t i = 7; i < PRIVATE; i++) {
		assert_true(alone[i] < TOPICS);
		differ |= alone[i] != alone[7];
	}
	assert_true(differ);
	for (size_t shift = 0; shift < PRIVATE; shift += 13) {
		for (size_t i = 0; i < PRIVATE; i++) turned[(i + shift) % PRIVATE] = texts[i];
		assert_int_equal(clusters_find(&clusters, model, turned, PRIVATE, found, &error),
		                 CUTTLE_OK);
		for (size_t i = 0; i < PRIVATE; i++)
			assert_int_equal(found[(i + shift) % PRIVATE], alone[i]);
	}
	// White space at both ends is no part of a text.
	char padded[300];
	const int size = snprintf(padded, sizeof padded, " \n%s  ", bytes[9]);
	assert_int_equal(find_one(&clusters, model, padded, (size_t)size), alone[9]);
	// Asking changed nothing.
	assert_memory_equal(rows, clusters.centres.rows, cells * sizeof *rows);
	if (clusters.weights) assert_memory_equal(weights, clusters.weights, sizeof weights);
	free(rows);
	clusters_free(&clusters);
}

static void test_isolation_by_words(void **state) {
	(void)state;
	check_isolation(NULL);
}

static void test_isolation_by_model(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	check_isolation(model);
	cuttle_model_free(&model);
}

/* Features of the model: of length one, the same for a text whatever stands beside it, and the
 * features that the centres were made of are those that a private text would get. */
static void test_hidden_features(void **state) {
	(void)state;
	enum { SOME = 64 };
	struct cuttle_model *model = tiny_model_open_healthy(1);
	static char bytes[SOME][256];
	struct hidden_text texts[SOME];
	struct text_feature *features = calloc(SOME, sizeof *features),
	                    *again = calloc(HIDDEN_TEXTS, sizeof *again);
	struct hidden hidden;
	struct cuttle_error error = {""};
	uint64_t stream = 11;
	for (size_t i = 0; i < SOME; i++) {
		write_text_of(&stream, i % TOPICS, bytes[i], sizeof bytes[i]);
		texts[i] = (struct hidden_text){bytes[i], strlen(bytes[i])};
	}
	if (hidden_make(model, texts, SOME, 1, &hidden, features, &error))
		fail_msg("%s", error.message);
	assert_int_equal(hidden.layer, 1);
	assert_int_equal(hidden.width, TINY_WIDTH);
	for (size_t first = 0; first < SOME; first += 5) {
		const size_t some = SOME - first < 5 ? SOME - first : 5;
		assert_int_equal(
		    hidden_features(&hidden, model, texts + first, some, again, &error), CUTTLE_OK);
		for (size_t i = 0; i < some; i++) {
			const struct text_feature *feature = &features[first + i];
			int64_t square = 0;
			assert_int_equal(again[i].count, feature->count);
			for (size_t e = 0; e < feature->count; e++) {
				assert_int_equal(again[i].at[e], feature->at[e]);
				assert_int_equal(again[i].value[e], feature->value[e]);
				square += (int64_t)feature->value[e] * feature->value[e];
			}
			assert_true(llabs(square - ((int64_t)1 << 30)) < 1 << 20);
		}
	}
	// More bytes than are read make no difference, and are cut before a character.
	char *longer = malloc(20000);
	for (size_t i = 0; i < 20000; i += 2) memcpy(longer + i, "\xc3\xa9", 2);
	const struct hidden_text both[2] = {{longer, 8192}, {longer, 20000}},
	                         cut[1] = {{longer, 20000 - 1}};
	assert_int_equal(hidden_features(&hidden, model, both, 2, again, &error), CUTTLE_OK);
	assert_memory_equal(again[0].value, again[1].value,
	                    again[0].count * sizeof *again[0].value);
	assert_int_equal(hidden_features(&hidden, model, cut, 1, again + 2, &error), CUTTLE_OK);
	assert_memory_equal(again[0].value, again[2].value,
	                    again[0].count * sizeof *again[0].value);
	free(longer);
	free(features);
	free(again);
	hidden_free(&hidden);
	cuttle_model_free(&model);
}

static void refuse_clusters(size_t count, enum cuttle_status wanted, const char *reason) {
	struct clusters clusters;
	struct cuttle_error error = {""};
	assert_int_equal(try_clusters(count, NULL, &clusters, &error), wanted);
	if (!strstr(error.message, reason)) fail_msg("\"%s\" lacks %s", error.message, reason);
	assert_null(clusters.names);
	assert_null(clusters.centres.rows);
}

static void test_refusals(void **state) {
	(void)state;
	write_public(TEXTS);
	refuse_clusters(1, CUTTLE_USAGE, "1 clusters are outside 2..1024");
	refuse_clusters(CLUSTERS_MOST + 1, CUTTLE_USAGE, "outside 2..1024");
	refuse_clusters(4, CUTTLE_INPUT, "or ask for --clusters 3");
	write_public(39);
	refuse_clusters(2, CUTTLE_INPUT, "39 public texts that can be told apart are too few");
	files_put(PATH, "", 0);
	refuse_clusters(2, CUTTLE_INPUT, "0 public texts");
	files_put(PATH, "{\"text\":\"a\"}\n{\"text\":\"  \"}\n", 27);
	refuse_clusters(2, CUTTLE_INPUT, "record 1 has no text in its field text");
	// Fifty times the same two words: both have weight 0, as all texts have them.
	FILE *file = fopen(PATH, "w");
	for (int i = 0; i < 50; i++) fprintf(file, "{\"text\":\"one two\"}\n");
	assert_int_equal(fclose(file), 0);
	refuse_clusters(2, CUTTLE_INPUT, "0 public texts");
	// Two sorts of text, three clusters asked for: one cannot be filled by another direction.
	file = fopen(PATH, "w");
	for (int i = 0; i < 60; i++) fprintf(file, "{\"text\":\"%s\"}\n", i % 2 ? "sail" : "oven");
	assert_int_equal(fclose(file), 0);
	refuse_clusters(3, CUTTLE_INPUT, "they fall into 2 clusters, not 3");
}

/* Five words of equal weight, in the order of their hashes; a heavier one goes before them, and
 * the last of the equals is left out. */
static void test_names(void **state) {
	(void)state;
	enum { SOME = 5 };
	static const char *const words[SOME] = {"sail", "rope", "deck", "tide", "wave"};
	const char *sorted[SOME];
	uint64_t hashes[SOME];
	char all[64] = "", wanted[64] = "anchor", twice[96], names[2][CLUSTERS_NAME];
	for (size_t i = 0; i < SOME; i++) {
		struct tfidf_word word;
		const char *text = words[i];
		size_t size = strlen(text), at = i;
		assert_true(tfidf_next(&text, &size, &word));
		for (; at && hashes[at - 1] > word.hash; at--) {
			hashes[at] = hashes[at - 1];
			sorted[at] = sorted[at - 1];
		}
		hashes[at] = word.hash;
		sorted[at] = words[i];
		strcat(strcat(all, words[i]), " ");
	}
	for (size_t i = 0; i + 1 < SOME; i++) strcat(strcat(wanted, " "), sorted[i]);
	(void)snprintf(twice, sizeof twice, "%sAnchor anchor", all);
	const struct hidden_text texts[] = {{twice, strlen(twice)},
	                                    {twice, strlen(twice)},
	                                    {"12 oven", 7},
	                                    {"averyveryveryverylongword!", 26},
	                                    {"averyveryveryverylongword!", 26}};
	static const uint32_t of_text[] = {0, 0, 1, 1, 1};
	struct cuttle_error error;
	assert_int_equal(topics_name(texts, of_text, 5, 2, names, &error), CUTTLE_OK);
	assert_string_equal(names[0], wanted);
	// A word of one text, and one of more than 24 bytes, name nothing.
	assert_string_equal(names[1], "cluster 1");
}

static char folder[] = "/tmp/cuttle-clusters-XXXXXX";

static int enter_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state) {
	(void)state;
	static const char *const names[] = {PATH};
	return chdir("/") || files_remove(folder, names, 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logarithms_and_words),
	    cmocka_unit_test(test_feature),
	    cmocka_unit_test(test_root),
	    cmocka_unit_test(test_ties),
	    cmocka_unit_test(test_centres),
	    cmocka_unit_test(test_topics_are_found),
	    cmocka_unit_test(test_isolation_by_words),
	    cmocka_unit_test(test_isolation_by_model),
	    cmocka_unit_test(test_hidden_features),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
