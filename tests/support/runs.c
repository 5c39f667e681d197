// SPDX-License-Identifier: Apache-2.0
// See runs.h. The model is the same for all tests. A run asks after each token whether it shall
// stop.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/runs.h"

#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"
#include <stdlib.h>

struct generate_request runs_request(const char *input, size_t texts, uint32_t batch,
                                     uint32_t tokens) {
	struct generate_request request;
	generate_default(&request);
	request.common.input = input;
	request.texts = texts;
	request.plan.batch = batch;
	request.plan.tokens = tokens;
	request.plan.parallel = 1;
	request.plan.insecure = true;
	request.plan.insecure_seed = 11;
	return request;
}

enum cuttle_status runs_model(const char *path, struct setup_model *opened,
                              struct cuttle_error *error) {
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	assert_non_null(bytes);
	files_put(path, bytes, size);
	free(bytes);
	return setup_open(path, NULL, opened, error);
}

struct watched {
	size_t texts; /* that the request asks for */
	size_t told;  /* tokens */
	size_t most;  /* of them, before the run stops */
};

static void ignore_begin(void *user, bool complete) {
	(void)user, (void)complete;
}

static void check_reading(void *user, size_t text) {
	const struct watched *watched = user;
	assert_true(text < watched->texts);
}

static void count_token(void *user) {
	((struct watched *)user)->told++;
}

static void ignore_event(void *user) {
	(void)user;
}

static bool ask_stop(void *user) {
	const struct watched *watched = user;
	return watched->told >= watched->most;
}

static void ignore_publish(void *user, const char *receipt) {
	(void)user, (void)receipt;
}

enum cuttle_status runs_until(const struct generate_request *request,
                              const struct setup_model *opened, size_t tokens, size_t *told,
                              struct cuttle_error *error) {
	struct watched watched = {.texts = request->texts, .most = tokens};
	const struct run_events events = {.user = &watched,
	                                  .begin = ignore_begin,
	                                  .reading = check_reading,
	                                  .token = count_token,
	                                  .text = ignore_event,
	                                  .stop = ask_stop,
	                                  .end = ignore_event,
	                                  .publish = ignore_publish};
	struct setup setup;
	enum cuttle_status status = generate_open(request, opened, &setup, error);
	if (!status) status = generate_texts(request, &setup, &events, error);
	generate_free(&setup);
	*told = watched.told;
	return status;
}

uint64_t runs_charged(const char *ledger_path) {
	struct ledger *ledger;
	struct ledger_standing standing;
	struct cuttle_error error;
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_look(ledger, "notes", &standing, &error), CUTTLE_OK);
	ledger_close(&ledger);
	return standing.runs;
}
