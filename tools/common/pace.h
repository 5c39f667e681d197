// SPDX-License-Identifier: Apache-2.0
// Estimates how long a run takes on this machine with a model. A pace is one measurement, made now
// (pace_measure) or read from what cuttle bench -o json printed (paces_read). Memory is counted,
// not measured (pace_memory), where the model is at hand. budget plan and generate --dry-run use
// it. No private data passes through. For example:
//   pace_measure(model, 7, 0, &pace, &error);
//   hours = pace_seconds(&pace, 100, 7, 400, 200) / 3600; // 100 texts, B = 7, 400 + 200 tokens
#ifndef CUTTLE_TOOLS_COMMON_PACE_H
#define CUTTLE_TOOLS_COMMON_PACE_H

#include "engine/cuttle.h"

/* One measurement. A row is one token of one context, public or private. NaN: not known. */
struct pace {
	double batch;               /* B, references per text */
	double parallel;            /* texts in flight */
	double threads;             /* worker threads */
	double prompt;              /* tokens in each context before the first step */
	double steps;               /* tokens drawn per text */
	double prompt_tokens_per_s; /* of all contexts together */
	double rows_per_s;          /* of all contexts together */
	double attention_share;     /* part of a step's time, 0 to 1, that grows with the context */
	double rss_bytes;           /* memory of the process at the end, only from a file */
	double kv_bytes;            /* memory that each token of a context adds, likewise */
};

struct paces {
	struct pace *all; /* [count] */
	size_t count;
	double model_bytes; /* size of the measured model's file, NaN = unknown */
};

enum {
	PACE_PROMPT = 400, /* tokens of a prompt when nobody says how long prompts are */
	PACE_MOST_BATCH = CUTTLE_STEP_ROWS - 1 /* the largest B that is measured: with the public
	                                          context it keeps the machine busy */
};

/* Bytes of keys and values that each token of a context takes. */
double pace_kv_bytes(const struct cuttle_model_info *info);

/* Measures in a few seconds how fast the model writes with this batch, or with PACE_MOST_BATCH when
 * batch is larger. `parallel` is the number of texts in flight, 0 = as a plan chooses. Takes the
 * memory of a short run. Errors as cuttle_bench. */
enum cuttle_status pace_measure(struct cuttle_model *model, uint32_t batch, uint32_t parallel,
                                struct pace *pace, struct cuttle_error *error);
/* Reads the measurements in a file of cuttle bench -o json; on success there is at least one. Call
 * paces_free in any case. INPUT: the file cannot be read, or is not what cuttle bench -o json
 * prints. NOMEM. */
enum cuttle_status paces_read(const char *path, struct paces *paces, struct cuttle_error *error);
void paces_free(struct paces *paces);
/* The measurement with the nearest B; of several as near, the one with the most rows per second. */
const struct pace *paces_nearest(const struct paces *paces, double batch);

/* Seconds for `texts` texts. Each has B = batch private contexts and a public one, each with a
 * prompt of `prompt` tokens. All `tokens` are drawn. The time of prompts is left out when it is
 * unknown. */
double pace_seconds(const struct pace *pace, double texts, double batch, double prompt,
                    double tokens);
/* Sets *bytes to what this process takes with the model and a job of `batch` references per text.
 * The contexts grow to `context` tokens, or to the model's longest. NaN: no plan has so large a
 * batch. NOMEM; INTERNAL. */
enum cuttle_status pace_memory(struct cuttle_model *model, double batch, double context,
                               double *bytes, struct cuttle_error *error);
/* Bytes of a process with that model and a job that maps so many (struct cuttle_guarantee). It does
 * not ask the system, for what is in memory now may depend on records. */
double pace_process_bytes(const struct cuttle_model_info *model, uint64_t job_bytes);
/* Estimates it from a file's measurement alone, when the model is not here. To rss_bytes it adds
 * the contexts of a run as a plan chooses it, less those that were measured. */
double pace_memory_there(const struct pace *pace, double batch, double context);
/* Bytes of memory in this machine, NaN = unknown. */
double pace_machine_memory(void);
/* Prints the line of a dry run that compares `bytes` with this machine's memory. `beside` is what
 * comes on top of them, in words or "". `lower` names what makes them less, if they are too many.
 */
void pace_print_memory(double bytes, const char *beside, const char *lower);

#endif
