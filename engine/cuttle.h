// SPDX-License-Identifier: Apache-2.0
// libcuttle: private text generation with a proof, on ordinary CPUs. This header is the whole public API.
//
// The idea. A *model* is immutable and may be shared. A *plan* fixes, before any private text is read, everything the privacy guarantee
// depends on: batch size B, tokens T, clip, temperature, prompts. A *job* runs a plan over references (the sensitive texts): text b is
// written from references b*B .. b*B+B-1, in lock step with one public context, by InvisibleInk (NeurIPS 2025, Algorithm 1) in exact
// integers (dp/PRIVACY.md). What a job hands to its callbacks is private output and may be published under the plan's guarantee.
//
// Every function that can fail returns a status; a message of one line goes to *error, which may be NULL. On failure output handles are
// NULL and the caller owns nothing. Breaking a precondition (a NULL where none is allowed) aborts with one line. The library never calls
// exit(), never writes to stdout or stderr, and has no global mutable state but the kernel table, set once at most, before any model opens.
#ifndef CUTTLE_H
#define CUTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUTTLE_VERSION "0.1.0"
#define CUTTLE_API __attribute__((visibility("default")))
#define CUTTLE_CHECKED __attribute__((warn_unused_result))

/* Outcome of a call; the numbers are also the exit codes of the command. */
enum cuttle_status {
	CUTTLE_OK = 0,
	CUTTLE_INTERNAL = 1, /* the machine failed us: no entropy, self check failed */
	CUTTLE_USAGE = 2,    /* a parameter is out of range or contradicts another */
	CUTTLE_BUDGET = 3,   /* the request would spend more privacy than allowed */
	CUTTLE_INPUT = 4,    /* an input file's structure is wrong, or holds too few records */
	CUTTLE_MODEL = 5,    /* the model file is malformed or of an unsupported kind */
	CUTTLE_PARTIAL = 6,  /* stopped before the end; the same call with the same journal completes the work */
	CUTTLE_LEDGER = 7,   /* the budget ledger is missing, busy, damaged or edited, or a receipt does not hold (the command only) */
	CUTTLE_NOMEM = 8
};

struct cuttle_error {
	char message[320]; /* one line, no newline, never a word of a private text */
};

CUTTLE_API const char *cuttle_version(void);

/* ---- instruction sets ---------------------------------------------------------------------------------------------------------------- */

/* Forces the kernel tier: "auto", "scalar", "neon", "dotprod", "avx2", "avxvnni", "avx512", "amx", or "blas" (auto with OpenBLAS for
 * prompts). Every tier but blas gives the same bits. USAGE when the name is unknown or this CPU or build lacks it. Call it before the first
 * cuttle_model_open, from one thread. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_isa_set(const char *name, struct cuttle_error *error);
CUTTLE_API const char *cuttle_isa(void); /* name of the tier in use */

/* ---- model --------------------------------------------------------------------------------------------------------------------------- */

struct cuttle_model;
struct cuttle_model_params {
	size_t struct_size; /* set by the default function */
	unsigned threads;   /* worker threads, 0 = the cores this process may use. Results do not depend on it. */
	bool lock;          /* keep weights, and contexts of jobs, in memory (mlock); USAGE, here or in the job, when the system refuses */
	/* Sees every byte of the file once, in order, as it is read: to hash exactly what is loaded. May be NULL. */
	void (*on_bytes)(void *user, const void *bytes, size_t size);
	void *user;
};
CUTTLE_API void cuttle_model_params_default(struct cuttle_model_params *params);

/* Reads a GGUF file (llama, qwen2, qwen3; F32, F16, Q8_0, Q4_0, Q4_1). params may be NULL.
 * MODEL: malformed, unsupported or unreadable file. NOMEM. USAGE: bad params. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_model_open(const char *path, const struct cuttle_model_params *params,
                                                               struct cuttle_model **model, struct cuttle_error *error);
CUTTLE_API void cuttle_model_free(struct cuttle_model **model); /* nulls the handle; NULL handles are fine */

struct cuttle_model_info {
	char name[64], architecture[32]; /* general.name, "" when absent; "llama", "qwen2", "qwen3" */
	char tokenizer[32], chat[16];    /* "llama", "gpt2/qwen2"; chatml zephyr llama-3 llama-2 mistral mistral-v7 qwen3 or "none" */
	char types[64];                  /* tensor types and how many of each: "Q4_1 x210, F32 x61" */
	uint64_t file_bytes, parameters, packed_bytes;
	uint32_t layers, width, heads, kv_heads, head_size, ffn, vocab, context;
	int32_t bos, eos; /* -1 = none */
	bool add_bos, tied_head;
};
CUTTLE_API void cuttle_model_describe(const struct cuttle_model *model, struct cuttle_model_info *info);

/* ---- text <-> tokens ----------------------------------------------------------------------------------------------------------------- */

/* An upper bound of the tokens that `bytes` bytes of text become, BOS included. */
CUTTLE_API size_t cuttle_tokens_bound(size_t bytes);

/* Tokens of text[size]. Text is never parsed for special tokens; BOS is put first only where the model's file says so and with_bos is true.
 * USAGE when capacity < what is needed (cuttle_tokens_bound is enough). NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_tokenize(const struct cuttle_model *model, const char *text, size_t size, bool with_bos,
                                                             int32_t *ids, size_t capacity, size_t *count, struct cuttle_error *error);

/* Bytes of ids[count] (may end inside a UTF-8 character). *size is the length needed; writes at most capacity bytes, no terminating NUL.
 * Control tokens have no text. USAGE when an id is outside the vocabulary. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_detokenize(const struct cuttle_model *model, const int32_t *ids, size_t count,
                                                               char *text, size_t capacity, size_t *size, struct cuttle_error *error);

/* ln P(ids[i+1] | ids[0..i]), natural log, and the most likely token there, for i in 0..count-2: logprobs[count-1], top1[count-1].
 * USAGE: count < 2 or above the model's context, or an id outside the vocabulary. MODEL: a logit is not finite. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_score(struct cuttle_model *model, const int32_t *ids, size_t count, double *logprobs,
                                                          int32_t *top1, struct cuttle_error *error);

/* ---- budgets (no model needed) ------------------------------------------------------------------------------------------------------- */

/* Per-text guarantee under "replace one reference by null", rho = T C^2 / (2 B^2 tau^2) (InvisibleInk Thm 2). epsilon: ZCDP from rho
 * (Canonne-Kamath-Steinke 2020); EXACT, 5 to 7 % less, not from rho, T at most 32768 (dp/exact.h). Not given: NaN, or 0 for counts. */
struct cuttle_budget {
	double epsilon, delta, rho, clip, temperature;
	uint32_t batch, tokens; /* B: private references per text; T: hard cap of private tokens per batch */
	uint32_t group, grid;   /* references of one person, whom epsilon, delta, rho are about, 0 = 1; points of EXACT, 0 = as suits T */
	bool spread;            /* the group's references are in a text each: group times rho; else all in one: group^2 */
	enum cuttle_accountant { CUTTLE_ZCDP, CUTTLE_EXACT } accountant;
};
enum cuttle_unknown { CUTTLE_CLIP, CUTTLE_EPSILON, CUTTLE_RHO, CUTTLE_DELTA, CUTTLE_TOKENS, CUTTLE_BATCH };
CUTTLE_API void cuttle_budget_none(struct cuttle_budget *budget); /* nothing given, zCDP */

/* Fills the unknown (and rho) from the others; epsilon, delta, rho, batch rounded up, clip and tokens down. clip is the real number here,
 * not yet the integer one. USAGE names the missing or impossible field. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_budget_solve(struct cuttle_budget *budget, enum cuttle_unknown unknown,
                                                                 struct cuttle_error *error);

/* ---- plan ---------------------------------------------------------------------------------------------------------------------------- */

/* Ways to spend better, under the same guarantee (dp/PRIVACY.md, steps 12 to 15). All off: what cuttle_plan_params_default sets. */
struct cuttle_savings {
	bool center;          /* each reference's differences are clipped around their median over V+ */
	bool token_bank;      /* tokens left when a text ends early serve further texts of the same batch */
	bool complete;        /* after T tokens a text goes on from the public prompt alone */
	double public_when;   /* so does a step whose public top probability is at least this, up to 1e-6; 0 = never */
	uint32_t free_tokens; /* U: at most so many tokens of a batch from the public prompt alone; 0 = T, if anything gives any */
};

enum cuttle_form {
	CUTTLE_CONTINUE, /* plain text: a collection of KINDs, each under "### KIND"; stops at "\n###" */
	CUTTLE_INSTRUCT, /* the model's own chat format asks for one new KIND */
	CUTTLE_CUSTOM    /* prompt_public and prompt_private as given; "{reference}" stands once in the private one */
};

struct cuttle_plan_params {
	size_t struct_size;
	double epsilon, clip;      /* one of them, the other NaN: the accountant's; rounded down to a multiple of 2^-F */
	double delta, temperature; /* 1e-6; 1.0, rounded to six decimals */
	uint32_t batch, tokens;    /* B, 7; T, hard cap of private tokens per batch, 200 */
	uint32_t spread;           /* G: texts one person's references stand in, at most one in each; the guarantee is for all of them. 1 */
	uint32_t top_k, context;   /* k, 100, 0 = whole vocabulary; longest prompt plus text in tokens, 0 = min(model's context, 4096) */
	enum cuttle_accountant accountant;
	struct cuttle_savings savings;
	enum cuttle_form form;
	const char *kind, *system, *chat_format;    /* "text"; INSTRUCT: system message (NULL = none), format (NULL = its own); public */
	const char *prompt_public, *prompt_private; /* CUSTOM only */
	const char *const *examples;                /* texts that are public, put before everything in every prompt */
	const char *const *headings; /* public lines ("genre: sea"), one of them in both prompts of a job; CUSTOM: at "{category}" */
	size_t example_count, heading_count;
	bool insecure; /* draw from insecure_seed, NOT PRIVATE: the output is a function of the data */
	uint64_t insecure_seed;
	uint32_t parallel, prompt_chunk; /* texts in flight, rows per prompt pass; 0 = as suits. Results do not depend on them. */
	bool no_sharing;                 /* give every context its own copy of the shared prefix. Results do not depend on it. */
};
CUTTLE_API void cuttle_plan_params_default(struct cuttle_plan_params *params); /* EXACT */

struct cuttle_plan;
/* Everything is copied; the model must outlive the plan. USAGE: a parameter is out of range, or prompts plus tokens do not fit the context.
 * INTERNAL: the exhaustive check of the weight table failed. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_plan_make(struct cuttle_model *model, const struct cuttle_plan_params *params,
                                                              struct cuttle_plan **plan, struct cuttle_error *error);
CUTTLE_API void cuttle_plan_free(struct cuttle_plan **plan);

struct cuttle_guarantee {
	double epsilon, epsilon_exact; /* ZCDP and EXACT (NaN where it is out of range), of the integers really used; rounded up, as rho */
	double delta, rho, clip, temperature;
	enum cuttle_accountant accountant;
	struct cuttle_savings savings; /* as they are used */
	int32_t clip_fixed;            /* clip * 2^fraction_bits */
	uint32_t fraction_bits, batch, tokens, spread, top_k, context;
	uint32_t public_tokens, shared_prefix;      /* tokens of the public prompt; those every prompt begins with, computed once */
	uint32_t reference_tokens, reference_bytes; /* a reference is cut to this many */
	bool private_output;                        /* false when the plan is insecure */
};
CUTTLE_API void cuttle_plan_describe(const struct cuttle_plan *plan, struct cuttle_guarantee *guarantee);

/* A heading's prompts in one canonical string (public: the reference is a placeholder), for hashing; NULL behind the last heading. */
CUTTLE_API const char *cuttle_plan_template(const struct cuttle_plan *plan, size_t heading);

/* ---- job ----------------------------------------------------------------------------------------------------------------------------- */

enum cuttle_finish { CUTTLE_FINISH_EOS, CUTTLE_FINISH_STOP, CUTTLE_FINISH_LENGTH };

struct cuttle_text {
	size_t index, batch;          /* differ with a token bank */
	const char *text;             /* valid UTF-8, stop string removed; valid during the callback only */
	size_t size;                  /* bytes */
	uint32_t tokens, free_tokens; /* drawn, the end token included; of them from the public prompt alone */
	enum cuttle_finish finish;
};

struct cuttle_progress {
	size_t texts, texts_done, tokens_done; /* of this job, those of an earlier run included; texts as the job counts them */
	const char *phase;                     /* "prompt", "decode" */
};

struct cuttle_job {
	size_t struct_size;
	size_t texts, heading; /* N: texts, with a token bank batches, 0 .. N-1 ("text" below), under this one of the plan's headings */
	void *user;
	/* Reference number `index` (0 .. N*B-1). *text must stay valid until this is called for another text's batch or the job ends.
	 * NULL, empty, blank, not UTF-8 or not finite under the model: the null reference. May not fail: what cannot be read is null. */
	void (*reference)(void *user, size_t index, const char **text, size_t *size);
	/* What `token` was given for this text by an earlier run (resume). It is replayed, never drawn again: two draws would spend twice.
	 * Returns the number and sets *tokens, valid until the next call. NULL = none. */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);
	/* A token t was drawn, ~t from the public prompt alone: record it first of all. Nonzero stops with PARTIAL. NULL = not recorded. */
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);
	/* A text is complete. Called in index order. Nonzero stops the job with PARTIAL. */
	int (*text)(void *user, const struct cuttle_text *text);
	/* Called often, from the calling thread, with public quantities only. Nonzero stops the job with PARTIAL. NULL = none. */
	int (*progress)(void *user, const struct cuttle_progress *progress);
	const struct cuttle_trace *trace; /* PRIVATE diagnostics of each step, engine/trace.h; NULL = none */
};
CUTTLE_API void cuttle_job_default(struct cuttle_job *job);

/* Runs the plan. PARTIAL: a callback asked to stop; everything handed out stays valid. INTERNAL: no entropy (nothing is drawn after that).
 * MODEL: the public logits are not finite, or replayed tokens are outside the vocabulary. NOMEM. Private texts cannot cause an error. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_job_run(struct cuttle_plan *plan, const struct cuttle_job *job,
                                                            struct cuttle_error *error);

/* ---- bench --------------------------------------------------------------------------------------------------------------------------- */

struct cuttle_bench_params {
	size_t struct_size;
	uint32_t batch, parallel; /* B, 0 = each text's public context alone; texts in flight, 0 = as cuttle_plan_make chooses */
	uint32_t prompt;          /* tokens of each context, random and nothing shared; at least 4 */
	uint32_t steps;           /* tokens per text: drawn, not simulated, k = 100, epsilon = 10, delta = 1e-6, and never the end */
};
enum cuttle_bench_part { CUTTLE_GEMM, CUTTLE_ATTENTION, CUTTLE_ROWS, CUTTLE_HEAD, CUTTLE_DCLIP, CUTTLE_DRAW, CUTTLE_OTHER, CUTTLE_PARTS };
struct cuttle_bench_result {
	uint32_t parallel, threads;               /* really used */
	double prompt_tokens_per_s;               /* of all contexts */
	double step_ms, step_p10_ms, step_p90_ms; /* median and percentiles over the steps */
	double rows_per_s, tokens_per_s;          /* parallel * (B + 1), and parallel, per median step */
	double parts_ms[CUTTLE_PARTS];            /* means over the middle half of the steps, per step */
	double weight_bytes, multiply_adds;       /* per step: weights read once, bytes by bytes */
	uint64_t rss_bytes;                       /* at the end */
};
/* Measures one setting, once. USAGE: out of range. NOMEM. Else as cuttle_job_run. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench(struct cuttle_model *model, const struct cuttle_bench_params *params,
                                                          struct cuttle_bench_result *result, struct cuttle_error *error);
/* The machine's, with the model's threads: bytes read from DRAM, and multiply-adds of bytes in registers by the tier in use, per second.
 * NOMEM: no 512 MiB to read. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench_ceilings(struct cuttle_model *model, double *bytes, double *multiply_adds,
                                                                   struct cuttle_error *error);
CUTTLE_API uint64_t cuttle_bench_rss(void); /* bytes of this process in memory, 0 = the system does not say */

#endif
