// SPDX-License-Identifier: Apache-2.0
// runs.h: requests and the model of small runs of generate, and runs that stop where a test wants
// it.
// No private data: the records are a test's.
// Example: runs_until(&request, &opened, 3, &told, &error) is CUTTLE_PARTIAL, and told is 3 or
// more.
#ifndef CUTTLE_TESTS_RUNS_H
#define CUTTLE_TESTS_RUNS_H

#include "workflow/generate.h"

/* A request of so many texts, of `batch` records each and of `tokens` tokens at most, one after the
 * other, with an insecure seed. */
struct generate_request runs_request(const char *input, size_t texts, uint32_t batch,
                                     uint32_t tokens);

/* Writes the tiny model to the path and opens it. Statuses of setup_open. */
enum cuttle_status runs_model(const char *path, struct setup_model *opened,
                              struct cuttle_error *error);

/* Runs the request until `tokens` tokens were told of; SIZE_MAX = to its end. Sets *told to how
 * many were. The test fails where a text is read that the request does not ask for. Statuses of
 * generate_open and generate_texts. */
enum cuttle_status runs_until(const struct generate_request *request,
                              const struct setup_model *opened, size_t tokens, size_t *told,
                              struct cuttle_error *error);

/* How many runs the data set "notes" of this ledger was charged for. */
uint64_t runs_charged(const char *ledger_path);

#endif
