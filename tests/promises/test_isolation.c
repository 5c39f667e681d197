// SPDX-License-Identifier: Apache-2.0
// Tests row isolation: a row's logits are a function of its own tokens and the weights, bit for
// bit. It fails if they change with the rest of the batch, with how the prompts are cut, with
// other texts in flight, with the number of threads, or with the kernel tier.
// It fails if the bits differ from those written down here: they are the same on every machine.
// With CUTTLE_TEST_SHORT=1 it tries only some of the ways, for emulated processors.
#include "engine/forward/lockstep.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	STEPS = 3,
	CANDIDATES = 40,
	HEAD = 37, /* tokens before a reference */
	TAIL = 5,  /* and after it */
	SHARED = HEAD / 16 * 16,
	MOST_REFERENCES = 9,
	LONGEST = 90,
	MOST_PLACES = 63
};

struct world {
	int32_t whole[HEAD + TAIL], tail[TAIL];
	int32_t reference[MOST_REFERENCES][LONGEST];
	size_t length[MOST_REFERENCES];
	uint32_t candidates[CANDIDATES];
};

/* Logits of one batch: the public row's, and each private row's by the number of its reference. */
struct answer {
	float public_row[STEPS][TINY_VOCAB];
	float private_row[STEPS][MOST_REFERENCES][CANDIDATES];
};

struct setting {
	size_t chunk;
	bool share;
	size_t slots; /* texts in flight: the batch in question is in the last slot, others hold a
	                 batch of other references */
};

static void make_world(struct world *world, uint64_t seed) {
	for (size_t i = 0; i < HEAD + TAIL; i++)
		world->whole[i] = (int32_t)(tiny_random(&seed) % TINY_BYTES);
	memcpy(world->tail, world->whole + HEAD, sizeof world->tail);
	for (size_t r = 0; r < MOST_REFERENCES; r++) {
		world->length[r] = 1 + tiny_random(&seed) % LONGEST;
		for (size_t i = 0; i < LONGEST; i++)
			world->reference[r][i] = (int32_t)(tiny_random(&seed) % TINY_BYTES);
	}
	for (uint32_t i = 0; i < CANDIDATES; i++) world->candidates[i] = i * 6 + (i > 20);
}

/* The private contexts of a batch. */
struct batch {
	int32_t ids[MOST_PLACES][HEAD + LONGEST + TAIL];
	struct place_context places[MOST_PLACES];
};

/* Makes a place's context: `head` tokens of the public one, the reference, the tail. */
static void set_place(struct batch *batch, size_t place, const struct world *world, size_t head,
                      const int32_t *reference, size_t length, size_t shared) {
	int32_t *ids = batch->ids[place];
	memcpy(ids, world->whole, head * sizeof *ids);
	memcpy(ids + head, reference, length * sizeof *ids);
	memcpy(ids + head + length, world->tail, sizeof world->tail);
	batch->places[place] = (struct place_context){{ids, head + length + TAIL}, shared};
}

static const struct tokens NOTHING = {0};

static enum cuttle_status begin_batch(const struct logit_source *source, size_t slot,
                                      const struct world *world, const struct batch *batch,
                                      size_t count, const struct tokens *already) {
	const struct tokens whole = {(int32_t *)world->whole, HEAD + TAIL};
	return source->begin(source->self, slot, &whole, batch->places, count, already, NULL);
}

static struct lockstep *open_lockstep(struct cuttle_model *model,
                                      const struct lockstep_params *params) {
	struct lockstep *lockstep;
	assert_int_equal(lockstep_new(&model->model, params, &lockstep, NULL), CUTTLE_OK);
	return lockstep;
}

/* Runs references[count] (numbers into the world; -1 = null) in lock step; rows come back under
 * their reference's number. */
static void run(struct cuttle_model *model, const struct world *world, const int *references,
                size_t count, struct setting setting, struct answer *answer) {
	const size_t shared = setting.share ? SHARED : 0;
	const struct lockstep_params params = {.prefix = {(int32_t *)world->whole, shared},
	                                       .batch = count,
	                                       .slots = setting.slots,
	                                       .context = 256,
	                                       .chunk = setting.chunk};
	struct lockstep *lockstep = open_lockstep(model, &params);
	const struct logit_source source = lockstep_source(lockstep);
	static struct batch batch, decoys;
	for (size_t i = 0; i < count; i++) {
		// A null place has a list where its tokens would stand; that it has none is what
		// counts.
		const size_t r = references[i] < 0 ? 0 : (size_t)references[i];
		set_place(&batch, i, world, HEAD, world->reference[r], world->length[r], shared);
		if (references[i] < 0) batch.places[i].tokens.count = 0;
	}
	const size_t slot = setting.slots - 1;
	int32_t next[4] = {1, 2, 3, 4};
	for (size_t other = 0; other < slot; other++) {
		decoys = (struct batch){0};
		for (size_t i = 0; i < count; i++)
			if (i % 3 != other)
				set_place(&decoys, i, world, HEAD,
				          world->reference[(i + 4) % MOST_REFERENCES], 1 + 11 * i,
				          shared);
		assert_int_equal(begin_batch(&source, other, world, &decoys, count, &NOTHING),
		                 CUTTLE_OK);
	}
	assert_int_equal(begin_batch(&source, slot, world, &batch, count, &NOTHING), CUTTLE_OK);
	for (size_t step = 0; step < STEPS; step++) {
		source.public_logits(source.self);
		memcpy(answer->public_row[step], source.public_row(source.self, slot),
		       sizeof answer->public_row[step]);
		source.private_logits(source.self, slot, 0, count, world->candidates, CANDIDATES);
		for (size_t i = 0; i < count; i++) {
			const float *row = source.row(source.self, i);
			assert_true((row != NULL) == (references[i] >= 0));
			if (row)
				memcpy(answer->private_row[step][references[i]], row,
				       sizeof answer->private_row[step][0]);
		}
		next[slot] = 65 + (int32_t)step;
		source.append(source.self, next);
		if (slot > 1 && step == 1)
			source.end(source.self, 0); // a text that ends takes nothing with it
	}
	lockstep_free(&lockstep);
}

static void assert_same_rows(const struct answer *answer, const struct answer *expected,
                             const int *references, size_t count) {
	for (size_t step = 0; step < STEPS; step++) {
		assert_memory_equal(answer->public_row[step], expected->public_row[step],
		                    sizeof answer->public_row[step]);
		for (size_t i = 0; i < count; i++)
			if (references[i] >= 0)
				assert_memory_equal(answer->private_row[step][references[i]],
				                    expected->private_row[step][references[i]],
				                    sizeof answer->private_row[step][0]);
	}
}

/* What every row is when it is alone with the public row, by the scalar kernels, so many tokens a
 * pass. */
static void run_alone(struct cuttle_model *model, const struct world *world, size_t chunk,
                      struct answer *expected) {
	for (int r = 0; r < MOST_REFERENCES; r++) {
		struct answer one;
		run(model, world, &r, 1, (struct setting){chunk, false, 1}, &one);
		memcpy(expected->public_row, one.public_row, sizeof one.public_row);
		for (size_t step = 0; step < STEPS; step++)
			memcpy(expected->private_row[step][r], one.private_row[step][r],
			       sizeof one.private_row[step][r]);
	}
}

/* FNV-1a, 64 bits. */
static uint64_t fingerprint_of(const void *bytes, size_t size) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static void check_ways(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                       enum cuttle_kv_type kv_type, uint64_t fingerprint, bool few) {
	static struct world world;
	static struct answer expected, answer;
	make_world(&world, 7);
	const int batches[][MOST_REFERENCES] = {{0, 1, 2, 3, 4, 5, 6, 7, 8},
	                                        {8, 7, 6, 5, 4, 3, 2, 1, 0},
	                                        {-1, 1, -1, 3, 4, -1, 6, 7, -1},
	                                        {5, -1, -1, -1, -1, -1, -1, -1, -1},
	                                        {-1, -1, -1, -1, -1, -1, -1, -1, -1}};
	const struct setting settings[] = {
	    {1, true, 2}, {7, false, 1}, {64, true, 4}, {512, false, 3}, {512, true, 1}};
	assert_true(kernels_set("scalar"));
	struct cuttle_model *model = tiny_model_open(matrix, embedding, 1);
	model->model.info.kv_type = kv_type;
	const bool brief = few || briefly();
	// One token a pass, or where the tokens of a row are seen elsewhere to leave each other
	// alone, many: the fingerprints are those of one.
	run_alone(model, &world, brief ? 64 : 1, &expected);
	cuttle_model_free(&model);
	if (fingerprint_of(&expected, sizeof expected) != fingerprint)
		fail_msg("the logits' fingerprint is %016llx",
		         (unsigned long long)fingerprint_of(&expected, sizeof expected));
	const struct kernels *tables[8];
	const size_t tiers = kernels_available(tables);
	for (unsigned threads = few ? 2 : 1; threads <= (few ? 2 : 4); threads++) {
		model = tiny_model_open(matrix, embedding, threads);
		model->model.info.kv_type = kv_type;
		for (size_t tier = few && tiers > 1; tier < tiers; tier++) {
			// Tiers and threads do not meet in one place: the best tier sees every
			// number of threads, the others one.
			if (tier + 1 < tiers && threads != 2) continue;
			assert_true(kernels_set(tables[tier]->name));
			for (size_t s = tier ? 0 : 3; s < sizeof settings / sizeof *settings; s++) {
				if (brief && s % 3 != threads % 3) continue;
				for (size_t b = 0; b < sizeof batches / sizeof *batches;
				     b += brief ? 2 : 1) {
					run(model, &world, batches[b], MOST_REFERENCES, settings[s],
					    &answer);
					assert_same_rows(&answer, &expected, batches[b],
					                 MOST_REFERENCES);
				}
			}
		}
		cuttle_model_free(&model);
	}
	kernels_set("auto");
}

/* By day one type of integers and one of floats go all ways, briefly the first alone: what they are
 * made of does not know the type. */
static void check_all_ways(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                           uint64_t fingerprint) {
	const bool all = matrix == GGUF_TENSOR_Q4_1 || (matrix == GGUF_TENSOR_F32 && !briefly());
	check_ways(matrix, embedding, CUTTLE_KV_F16, fingerprint, !all && !nightly());
}

/* Keys and values of 8 bits. */
static void test_kv_q8(void **state) {
	(void)state;
	check_ways(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, CUTTLE_KV_Q8, 0xdbff7155430c8fc8u, false);
}

static void test_q4_1(void **state) {
	(void)state, check_all_ways(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 0x59850440466c3ef5u);
}
static void test_q4_0(void **state) {
	(void)state, check_all_ways(GGUF_TENSOR_Q4_0, GGUF_TENSOR_F16, 0xabbcc52d43c0eed3u);
}
static void test_q8_0(void **state) {
	(void)state, check_all_ways(GGUF_TENSOR_Q8_0, GGUF_TENSOR_Q4_0, 0xbb67eb205342c212u);
}
static void test_f16(void **state) {
	(void)state, check_all_ways(GGUF_TENSOR_F16, GGUF_TENSOR_F32, 0xa992d6cd36e5f7d4u);
}
static void test_f32(void **state) {
	(void)state, check_all_ways(GGUF_TENSOR_F32, GGUF_TENSOR_Q4_1, 0xcd4633bb62e2f775u);
}

/* The other types, each as a layer's and as an embedding's: two threads and few settings, for what
 * they share is seen above; the scalar tier has made the answers. */
static void test_other_types(void **state) {
	(void)state;
	static const struct {
		enum gguf_tensor_type matrix, embedding;
		uint64_t fingerprint;
	} pairs[] = {{GGUF_TENSOR_BF16, GGUF_TENSOR_Q5_0, 0xe679b95175fd3173u},
	             {GGUF_TENSOR_Q5_0, GGUF_TENSOR_BF16, 0xeaa4b6e6c1b08feeu},
	             {GGUF_TENSOR_Q5_1, GGUF_TENSOR_IQ4_NL, 0x6665cf6845e09bccu},
	             {GGUF_TENSOR_IQ4_NL, GGUF_TENSOR_Q5_1, 0x9749e09548cad72au},
	             {GGUF_TENSOR_Q4_K, GGUF_TENSOR_Q6_K, 0x61bb2fef7a73de39u},
	             {GGUF_TENSOR_Q5_K, GGUF_TENSOR_Q4_K, 0xd364001e7c64a0f5u},
	             {GGUF_TENSOR_Q6_K, GGUF_TENSOR_Q5_K, 0x86da4793640fc648u},
	             {GGUF_TENSOR_Q3_K, GGUF_TENSOR_Q2_K, 0x941f55a7bc277dcfu},
	             {GGUF_TENSOR_Q2_K, GGUF_TENSOR_IQ4_XS, 0x64e28bbd12119d4eu},
	             {GGUF_TENSOR_IQ4_XS, GGUF_TENSOR_Q3_K, 0xb4b65842a2511988u}};
	const size_t first = briefly() ? 3 : 0,
	             last = briefly() ? 3 : sizeof pairs / sizeof *pairs - 1;
	for (size_t i = first; i <= last; i++)
		check_ways(pairs[i].matrix, pairs[i].embedding, CUTTLE_KV_F16, pairs[i].fingerprint,
		           true);
}

/* 1 to 33 rows and 64 in one call, the same references again and again: every kernel meets every
 * tile and every rest. */
static void test_every_number_of_rows(void **state) {
	(void)state;
	static struct world world;
	static struct answer expected;
	make_world(&world, 19);
	for (size_t r = 0; r < MOST_REFERENCES; r++) world.length[r] = 1 + world.length[r] % 12;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	assert_true(kernels_set("scalar"));
	run_alone(model, &world, 1, &expected);
	const struct kernels *tables[8];
	const size_t tiers = kernels_available(tables);
	for (size_t tier = 0; tier < tiers; tier++) {
		assert_true(kernels_set(tables[tier]->name));
		for (size_t batch = 1; batch <= 63; batch += briefly()     ? 1 + batch / 2
		                                             : batch == 32 ? 31
		                                                           : 1) {
			const struct lockstep_params params = {.prefix = {world.whole, SHARED},
			                                       .batch = batch,
			                                       .slots = 1,
			                                       .context = 256,
			                                       .chunk = 64};
			struct lockstep *lockstep = open_lockstep(model, &params);
			const struct logit_source source = lockstep_source(lockstep);
			static struct batch all;
			for (size_t i = 0; i < batch; i++)
				set_place(&all, i, &world, HEAD,
				          world.reference[i % MOST_REFERENCES],
				          world.length[i % MOST_REFERENCES], SHARED);
			assert_int_equal(begin_batch(&source, 0, &world, &all, batch, &NOTHING),
			                 CUTTLE_OK);
			for (size_t step = 0; step < STEPS; step++) {
				source.public_logits(source.self);
				assert_memory_equal(source.public_row(source.self, 0),
				                    expected.public_row[step],
				                    sizeof expected.public_row[0]);
				source.private_logits(source.self, 0, 0, batch, world.candidates,
				                      CANDIDATES);
				for (size_t i = 0; i < batch; i++)
					assert_memory_equal(
					    source.row(source.self, i),
					    expected.private_row[step][i % MOST_REFERENCES],
					    sizeof expected.private_row[0][0]);
				source.append(source.self, &(int32_t){65 + (int32_t)step});
			}
			lockstep_free(&lockstep);
		}
	}
	kernels_set("auto");
	cuttle_model_free(&model);
}

/* A private context with the public context's tokens is the public row: the null reference of the
 * theorem, seen from the engine. */
static void test_same_tokens_same_logits(void **state) {
	(void)state;
	static struct world world;
	static struct answer answer;
	make_world(&world, 11);
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	const struct lockstep_params params = {
	    .prefix = {world.whole, 16}, .batch = 2, .slots = 1, .context = 256, .chunk = 64};
	struct lockstep *lockstep = open_lockstep(model, &params);
	const struct logit_source source = lockstep_source(lockstep);
	static struct batch batch;
	// The second context spells the public one, for its reference is that one's middle.
	set_place(&batch, 0, &world, HEAD - 6, world.reference[0], 40, 16);
	set_place(&batch, 1, &world, HEAD - 6, world.whole + HEAD - 6, 6, 16);
	assert_int_equal(begin_batch(&source, 0, &world, &batch, 2, &NOTHING), CUTTLE_OK);
	for (size_t step = 0; step < STEPS; step++) {
		source.public_logits(source.self);
		memcpy(answer.public_row[0], source.public_row(source.self, 0),
		       sizeof answer.public_row[0]);
		source.private_logits(source.self, 0, 0, 2, world.candidates, CANDIDATES);
		const float *other = source.row(source.self, 0), *same = source.row(source.self, 1);
		size_t differing = 0;
		for (size_t i = 0; i < CANDIDATES; i++) {
			assert_memory_equal(&same[i], &answer.public_row[0][world.candidates[i]],
			                    sizeof(float));
			differing += other[i] != same[i];
		}
		assert_true(differing > CANDIDATES / 2);
		source.append(source.self, &(int32_t){70});
	}
	lockstep_free(&lockstep);
	cuttle_model_free(&model);
}

/* Logits of one text whose places share the beginning of its public context, or all compute their
 * own. Asks for one place after the other, as DP-Fusion does. */
static void run_document(struct cuttle_model *model, const struct world *world, size_t prefix,
                         bool share, size_t chunk, float rows[STEPS][4][CANDIDATES],
                         float public_rows[STEPS][TINY_VOCAB]) {
	// Place 0 leaves the public context late, 1 early, 2 is null, 3 never leaves it.
	static const size_t same[4] = {HEAD, 20, 0, HEAD};
	static struct batch batch;
	const struct tokens already = {(int32_t[]){70, 71, 72}, 3};
	const struct lockstep_params params = {.prefix = {(int32_t *)world->whole, prefix},
	                                       .batch = 4,
	                                       .slots = 2,
	                                       .context = 256,
	                                       .chunk = chunk};
	struct lockstep *lockstep = open_lockstep(model, &params);
	const struct logit_source source = lockstep_source(lockstep);
	for (size_t slot = 0; slot < 2; slot++) {
		for (size_t i = 0; i < 4; i++) {
			const size_t shared = share ? same[i] / 16 * 16 : 0,
			             length = i == 3 ? 0 : 50 - 3 * i;
			set_place(&batch, i, world, same[i], world->reference[i + slot], length,
			          shared);
			if (i == 2) batch.places[i].tokens.count = 0;
		}
		assert_int_equal(begin_batch(&source, slot, world, &batch, 4, &already), CUTTLE_OK);
	}
	for (size_t step = 0; step < STEPS; step++) {
		source.public_logits(source.self);
		memcpy(public_rows[step], source.public_row(source.self, 0), sizeof *public_rows);
		for (size_t place = 0; place < 4; place++) {
			source.private_logits(source.self, 0, place, 1, world->candidates,
			                      CANDIDATES);
			for (size_t i = 0; i < 4; i++) {
				const float *row = source.row(source.self, i);
				assert_true((row != NULL) == (i == place && i != 2));
				if (row) memcpy(rows[step][i], row, sizeof rows[step][i]);
			}
		}
		source.append(source.self, (int32_t[]){80 + (int32_t)step, 90});
	}
	source.alone(source.self, 0);
	source.public_logits(source.self);
	source.private_logits(source.self, 0, 0, 4, world->candidates, CANDIDATES);
	for (size_t i = 0; i < 4; i++) assert_null(source.row(source.self, i));
	lockstep_free(&lockstep);
}

/* What a private context shares with the public one, and whether the run has a prefix of its own,
 * changes no bit. A place that shows what the public context shows has its row. */
static void test_shared_with_public(void **state) {
	(void)state;
	static struct world world;
	static float expected[STEPS][4][CANDIDATES], rows[STEPS][4][CANDIDATES],
	    expected_public[STEPS][TINY_VOCAB], public_rows[STEPS][TINY_VOCAB];
	make_world(&world, 23);
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct cuttle_model *model =
		    tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, threads);
		run_document(model, &world, 0, false, 1, expected, expected_public);
		for (size_t prefix = 0; prefix <= 16; prefix += 16)
			for (size_t chunk = 1; chunk <= 64; chunk += 21) {
				run_document(model, &world, prefix, true, chunk, rows, public_rows);
				assert_memory_equal(rows, expected, sizeof rows);
				assert_memory_equal(public_rows, expected_public,
				                    sizeof public_rows);
			}
		for (size_t step = 0; step < STEPS; step++)
			for (size_t i = 0; i < CANDIDATES; i++) {
				const float shown = expected_public[step][world.candidates[i]];
				assert_memory_equal(&expected[step][3][i], &shown, sizeof shown);
				assert_true(expected[step][0][i] != shown ||
				            expected[step][1][i] != shown);
			}
		cuttle_model_free(&model);
	}
}

/* A row that is not finite leaves the others alone. */
static void test_poisoned_row(void **state) {
	(void)state;
	static struct world world, poisoned;
	static struct answer expected, answer;
	make_world(&world, 13);
	poisoned = world;
	poisoned.reference[4][0] = TINY_NAN;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	const int all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, others[] = {0, 1, 2, 3, -1, 5, 6, 7, 8};
	run(model, &world, all, MOST_REFERENCES, (struct setting){64, true, 1}, &expected);
	run(model, &poisoned, all, MOST_REFERENCES, (struct setting){64, true, 1}, &answer);
	assert_same_rows(&answer, &expected, others, MOST_REFERENCES);
	for (size_t i = 0; i < CANDIDATES; i++)
		assert_true(answer.private_row[0][4][i] != answer.private_row[0][4][i]);
	// The next batch uses the same memory: nothing of the poison may be left in it.
	run(model, &world, all, MOST_REFERENCES, (struct setting){64, true, 1}, &answer);
	assert_same_rows(&answer, &expected, all, MOST_REFERENCES);
	cuttle_model_free(&model);
}

/* Memory of an earlier batch is reused: what lies beyond a context's tokens must not be read. */
static void test_reused_memory(void **state) {
	(void)state;
	static struct world world;
	make_world(&world, 17);
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	const struct lockstep_params params = {
	    .prefix = {world.whole, SHARED}, .batch = 1, .slots = 1, .context = 256, .chunk = 64};
	struct lockstep *lockstep = open_lockstep(model, &params);
	const struct logit_source source = lockstep_source(lockstep);
	static struct batch batch;
	float first[CANDIDATES];
	world.reference[1][60] = TINY_NAN;
	for (size_t i = 0; i < 3; i++) {
		set_place(&batch, 0, &world, HEAD, world.reference[i % 2], i == 1 ? 80 : 20,
		          SHARED);
		assert_int_equal(begin_batch(&source, 0, &world, &batch, 1, &NOTHING), CUTTLE_OK);
		source.private_logits(source.self, 0, 0, 1, world.candidates, CANDIDATES);
		if (i == 0) memcpy(first, source.row(source.self, 0), sizeof first);
	}
	assert_memory_equal(source.row(source.self, 0), first, sizeof first);
	lockstep_free(&lockstep);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_q4_1),
	    cmocka_unit_test(test_kv_q8),
	    cmocka_unit_test(test_q4_0),
	    cmocka_unit_test(test_q8_0),
	    cmocka_unit_test(test_f16),
	    cmocka_unit_test(test_f32),
	    cmocka_unit_test(test_other_types),
	    cmocka_unit_test(test_every_number_of_rows),
	    cmocka_unit_test(test_same_tokens_same_logits),
	    cmocka_unit_test(test_shared_with_public),
	    cmocka_unit_test(test_poisoned_row),
	    cmocka_unit_test(test_reused_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
