// SPDX-License-Identifier: Apache-2.0
// cuttle.h: the public API of libcuttle, for C and for C++. cuttle/trace.h adds to it.
// libcuttle writes private text with a proof, on ordinary CPUs.
// Called by: programs, and the command cuttle itself. examples/ has a program in C and one in C++.
// Private data: references. What a job hands to its callbacks may be published under the plan's
// guarantee, but for the trace: those are private diagnostics, for research.
// How: a *model* is a file in memory. A *plan* fixes all that the guarantee depends on before any
// private text is read: batch size B, tokens T, clip, temperature, prompts. A *job* runs a plan
// over *references*, the sensitive texts. Text b is written from references b*B .. b*B+B-1.
// Example: B = 7: text 2 is written from references 14 to 20.
// Each token is drawn from one public and B private contexts, in exact integers (dp/PRIVACY.md).
// The mechanism is InvisibleInk (NeurIPS 2025, Algorithm 1).
#ifndef CUTTLE_H
#define CUTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Errors. A function that can fail returns a status, and writes a message of one line to *error.
// error may be NULL. After a failure its output handles are NULL and the caller owns nothing.
// A broken precondition aborts: for example a NULL where none is allowed. The abort writes one line
// to stderr. The library never calls exit() and never writes to stdout.
//
// Threads. Any number of threads may use one model at the same time. Their calls take turns at the
// model's worker threads, in the order they come. They give the same bits as one after the other.
// Only one thread may use a plan at a time. Each job of a plan must end before the next begins.
// Callbacks run in the thread that made the call. Free a model when no call uses it any more.
// The only global state is the choice of kernels: set it, if at all, before any model is opened.
//
// Versions. A struct that begins with struct_size grows at its end in later versions. Its default
// function sets struct_size. A program built with an older header gives a smaller struct. It is
// accepted: the members it lacks take their defaults. A larger one comes from a header newer than
// the library, and is refused (USAGE).

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_VERSION "0.1.0"
#define CUTTLE_API __attribute__((visibility("default")))
#define CUTTLE_CHECKED __attribute__((warn_unused_result))

/* Outcome of a call. The numbers are also the exit codes of the command. */
enum cuttle_status {
	CUTTLE_OK = 0,
	CUTTLE_INTERNAL = 1, /* the machine failed: no entropy, or a self check failed */
	CUTTLE_USAGE = 2,    /* a parameter is out of range or contradicts another */
	CUTTLE_BUDGET = 3,   /* the request would spend more privacy than allowed */
	CUTTLE_INPUT = 4,    /* an input file's structure is wrong, or it holds too few records */
	CUTTLE_MODEL = 5,    /* the model file is malformed, or of a kind cuttle does not support */

	/* A callback asked to stop. A job run again with what was drawn completes the work. */
	CUTTLE_PARTIAL = 6,

	/* Only the command returns this: the budget ledger is missing, busy, damaged or edited, or
	 * a receipt does not hold. */
	CUTTLE_LEDGER = 7,

	CUTTLE_NOMEM = 8 /* out of memory, or more is needed than the system says is available */
};

struct cuttle_error {
	char message[320]; /* one line without a newline; never a word of a private text */
};

/* The version of the library. CUTTLE_VERSION is the version of the header. */
CUTTLE_API const char *cuttle_version(void);

/* ---- instruction sets ------------------------------------------------------------------------ */

/* Forces the kernels, the code for one instruction set: "auto", "scalar", "neon", "dotprod",
 * "avx2", "avxvnni", "avx512", "amx" or "blas". "auto" takes the fastest of this CPU; "blas" is
 * auto with OpenBLAS for prompts. All but "blas" give the same bits.
 * Call it before the first model is opened, from one thread.
 * USAGE: the name is unknown, or this CPU or build does not have it. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_isa_set(const char *name,
                                                            struct cuttle_error *error);

/* The name of the kernels in use. */
CUTTLE_API const char *cuttle_isa(void);

/* ---- model ----------------------------------------------------------------------------------- */

struct cuttle_model;

struct cuttle_model_params {
	size_t struct_size; /* set by the default function */

	/* Worker threads, the caller included. 0 = the cores that this process may use. Results do
	 * not depend on it. */
	unsigned threads;

	/* Keeps the weights, and the contexts of jobs, out of swap (mlock). USAGE, here or in the
	 * job, when the system refuses. */
	bool lock;

	/* Gets each byte that is read, once and in order, for instance to hash exactly the bytes
	 * that are loaded. They are the whole file, or its beginning with vocabulary_only. NULL =
	 * none. */
	void (*on_bytes)(void *user, const void *bytes, size_t size);

	void *user; /* first argument of both callbacks */

	/* Called while the model loads. `done` of `total` bytes of work are done. Each byte of the
	 * file counts once when it is read, and once when it is packed. The last call has done ==
	 * total. Nonzero stops with PARTIAL. NULL = none. */
	int (*on_progress)(void *user, uint64_t done, uint64_t total);

	/* Reads the file's vocabulary and no weights. That is fast, and works for any architecture
	 * and for a file without tensors. Such a model can be described, and it turns text into
	 * tokens and back. score, plan and bench refuse it (USAGE). No worker is started. */
	bool vocabulary_only;
};

/* Sets all members to their defaults: 0, false and NULL, except struct_size. */
CUTTLE_API void cuttle_model_params_default(struct cuttle_model_params *params);

/* Opens a GGUF file. README lists the architectures and tensor types. params may be NULL: then the
 * defaults are used. cuttle_model_free frees the model.
 * MODEL: not a readable regular file, not GGUF, malformed, or not supported.
 * NOMEM: also when the file needs more memory than the system says is available; nothing is read
 * then.
 * USAGE: bad params; the system refuses to lock the memory; "blas" and a model too wide for it.
 * PARTIAL: on_progress asked to stop. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open(const char *path, const struct cuttle_model_params *params,
                  struct cuttle_model **model, struct cuttle_error *error);

/* The same from an open descriptor of a regular file or a memfd. It is read from its beginning. The
 * caller keeps the descriptor, may close it after the call, and finds its position unchanged. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open_fd(int file, const struct cuttle_model_params *params,
                     struct cuttle_model **model, struct cuttle_error *error);

/* The same from the bytes of a file. They are copied: the caller may free them after the call. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open_memory(const void *bytes, size_t size, const struct cuttle_model_params *params,
                         struct cuttle_model **model, struct cuttle_error *error);

/* Frees the model and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_model_free(struct cuttle_model **model);

/* What a model is. With vocabulary_only, what the file does not say is "" or 0. */
struct cuttle_model_info {
	char name[64];         /* general.name of the file, "" = none */
	char architecture[32]; /* general.architecture of the file: "llama", "qwen2", "qwen3" */

	/* "llama", "gpt2/qwen2", ...; "gpt2/default": the file does not say how it splits text. */
	char tokenizer[32];

	/* "chatml", "zephyr", "llama-3", "llama-2", "mistral", "mistral-v7", "qwen3" or "none". */
	char chat[16];

	char types[64]; /* tensor types and how many of each: "Q4_1 x210, F32 x61" */

	/* Why cuttle cannot run the file, "" = it can. There can be a reason only with
	 * vocabulary_only, since else the model would not open. */
	char unsupported[160];

	uint64_t file_bytes;   /* size of the file, in bytes */
	uint64_t parameters;   /* numbers in all tensors */
	uint64_t packed_bytes; /* bytes of the weights in memory, once loaded */
	uint32_t tensors;      /* tensors in the file; 0 = a vocabulary alone */
	uint32_t layers;       /* transformer blocks */
	uint32_t width;        /* floats of a token's hidden state */
	uint32_t heads;        /* query heads of a layer */
	uint32_t kv_heads;     /* key and value heads of a layer */
	uint32_t head_size;    /* floats of a head */
	uint32_t ffn;          /* width of the feed-forward part */
	uint32_t vocab;        /* tokens of the vocabulary */
	uint32_t context;      /* longest context, in tokens */
	int32_t bos;           /* beginning-of-text token, -1 = none */
	int32_t eos;           /* end-of-text token, -1 = none */
	bool add_bos;          /* texts begin with bos */
	bool tied_head;        /* the output head is the embedding */
};

/* Fills *info. It stays valid without the model. */
CUTTLE_API void cuttle_model_describe(const struct cuttle_model *model,
                                      struct cuttle_model_info *info);

/* ---- text <-> tokens ------------------------------------------------------------------------- */

/* The most tokens that `bytes` bytes of text can become, BOS included. */
CUTTLE_API size_t cuttle_tokens_bound(size_t bytes);

/* Writes the tokens of text[size] to ids[capacity], and their number to *count. Text is never
 * parsed for special tokens: "</s>" becomes the tokens of these four characters. BOS is put first
 * only when the model's file says so and with_bos is true.
 * USAGE: capacity is too small; cuttle_tokens_bound(size) is always enough. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_tokenize(const struct cuttle_model *model, const char *text, size_t size, bool with_bos,
                int32_t *ids, size_t capacity, size_t *count, struct cuttle_error *error);

/* Writes the bytes that ids[count] spell to text, at most `capacity` of them, without a NUL. *size
 * becomes the number of all their bytes, also when they do not fit. They may end inside a UTF-8
 * character. Control tokens have no text.
 * USAGE: an id is outside the vocabulary. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_detokenize(const struct cuttle_model *model, const int32_t *ids, size_t count, char *text,
                  size_t capacity, size_t *size, struct cuttle_error *error);

/* Sets logprobs[i] = ln P(ids[i+1] | ids[0..i]), natural logarithm, for i in 0 .. count-2. top1[i]
 * becomes the likeliest token there. Both arrays have count-1 places. Example: 3 tokens give 2
 * numbers, for the second token and for the third.
 * USAGE: count is below 2 or above the model's context; an id is outside the vocabulary; the model
 * has no weights; the system refuses to lock memory.
 * MODEL: a logit is not finite. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_score(struct cuttle_model *model,
                                                          const int32_t *ids, size_t count,
                                                          double *logprobs, int32_t *top1,
                                                          struct cuttle_error *error);

/* ---- budgets: no model needed ---------------------------------------------------------------- */

/* How epsilon follows from the other numbers. */
enum cuttle_accountant {
	/* From rho, by Canonne-Kamath-Steinke 2020. */
	CUTTLE_ZCDP,

	/* By exact composition of the tokens (dp/exact.h): 5 to 7 % less epsilon. T is at most
	 * 32768. */
	CUTTLE_EXACT
};

/* The guarantee of one text when one reference is replaced by null: rho = T C^2 / (2 B^2 tau^2)
 * (InvisibleInk, Theorem 2). A number that is not given is NaN, a count that is not given is 0.
 * Example: T = 200, C = 1, B = 7, tau = 1: rho = 200 / 98 = 2.04. */
struct cuttle_budget {
	double epsilon;
	double delta;
	double rho;         /* of zero-concentrated differential privacy */
	double clip;        /* C: bound of a reference's logit differences, in nats */
	double temperature; /* tau */
	uint32_t batch;     /* B: private references per text */
	uint32_t tokens;    /* T: hard cap of private tokens per batch */

	/* References of one person. Epsilon, delta and rho are about this person. 0 = 1. */
	uint32_t group;

	uint32_t grid; /* points of the exact accountant; 0 = as suits T */

	/* true: the group's references are in a text each, which multiplies rho by group. false:
	 * they are all in one text, which multiplies rho by group^2. Example: group 3: 3 or 9. */
	bool spread;

	enum cuttle_accountant accountant;
};

/* The number that cuttle_budget_solve fills. */
enum cuttle_unknown {
	CUTTLE_CLIP,
	CUTTLE_EPSILON,
	CUTTLE_RHO,
	CUTTLE_DELTA,
	CUTTLE_TOKENS,
	CUTTLE_BATCH
};

/* Sets all members to "not given", and the accountant to zCDP. */
CUTTLE_API void cuttle_budget_none(struct cuttle_budget *budget);

/* Fills the unknown, and rho, from the others. Epsilon, delta, rho and batch are rounded up; clip
 * and tokens are rounded down. The clip is a real number here; a plan rounds it to an integer.
 * USAGE: the message names the missing or impossible field. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_budget_solve(struct cuttle_budget *budget,
                                                                 enum cuttle_unknown unknown,
                                                                 struct cuttle_error *error);

/* ---- plan ------------------------------------------------------------------------------------ */

/* Ways to get more from the same guarantee (dp/PRIVACY.md, steps 12 to 15). All are off by default.
 * A token drawn from the public prompt alone is free: it does not count against T. */
struct cuttle_savings {
	/* Clips each reference's logit differences around their median over the candidates V+. */
	bool center;

	/* Tokens left of T when a text ends early serve further texts of the same batch. */
	bool token_bank;

	/* After T tokens a text goes on with free tokens. */
	bool complete;

	/* A step is free when the public prompt's likeliest token has at least this probability.
	 * Rounded to a multiple of 1e-6. 0 = never. */
	double public_when;

	/* U: free tokens of a batch, at most. 0 = T, if complete or public_when is on. */
	uint32_t free_tokens;
};

/* How the prompts are written. */
enum cuttle_form {
	/* Plain text: a collection of KINDs, each under "### KIND". A text stops at "\n###". */
	CUTTLE_CONTINUE,

	/* The model's own chat format asks for one new KIND. */
	CUTTLE_INSTRUCT,

	/* prompt_public and prompt_private as given. The private one holds "{reference}" once. */
	CUTTLE_CUSTOM
};

/* All strings and arrays must be public. cuttle_plan_make reads and copies them: nobody reads them
 * afterwards. */
struct cuttle_plan_params {
	size_t struct_size; /* set by the default function */

	/* Epsilon of the accountant below. Give epsilon or the clip, and leave the other NaN. */
	double epsilon;

	double clip;        /* in nats; rounded down to a multiple of 2^-fraction_bits */
	double delta;       /* default 1e-6 */
	double temperature; /* default 1.0; rounded to six decimals */
	uint32_t batch;     /* B: references per text; default 7 */
	uint32_t tokens;    /* T: hard cap of private tokens per batch; default 200 */

	/* G: one person's references stand in at most so many texts, at most one in each. The
	 * guarantee is for all of them together. Default 1. */
	uint32_t spread;

	uint32_t top_k; /* k; default 100; 0 = the whole vocabulary */

	/* Longest prompt plus text, in tokens. 0 = the model's context, at most 4096. */
	uint32_t context;

	enum cuttle_accountant accountant; /* default CUTTLE_EXACT */
	struct cuttle_savings savings;     /* default all off */
	enum cuttle_form form;             /* default CUTTLE_CONTINUE */
	const char *kind; /* what a text is, for the prompts: "clinical note"; default "text" */

	/* CUTTLE_INSTRUCT: system message. NULL = the template's own, "" = none. */
	const char *system;

	/* CUTTLE_INSTRUCT: name of a format, as in cuttle_model_info. NULL = the model's own. */
	const char *chat_format;

	const char *prompt_public;  /* CUTTLE_CUSTOM only */
	const char *prompt_private; /* CUTTLE_CUSTOM only */

	/* [example_count] public example texts. In every prompt they stand before the heading and
	 * the reference; in CUTTLE_CUSTOM they stand before everything. */
	const char *const *examples;

	/* [heading_count] public lines such as "genre: sea". A job's prompts have one of them. In
	 * CUTTLE_CUSTOM it stands at "{category}". */
	const char *const *headings;

	size_t example_count; /* above 0: examples, and each of them, may not be NULL */
	size_t heading_count; /* above 0: headings, and each of them, may not be NULL */

	/* NOT PRIVATE: draws from insecure_seed, so the output is a function of the data. */
	bool insecure;

	uint64_t insecure_seed; /* any number */

	// Results do not depend on these.
	uint32_t parallel;     /* texts in flight; 0 = as suits */
	uint32_t prompt_chunk; /* rows per pass over the prompts; 0 = as suits */
	bool no_sharing;       /* gives each context its own copy of the shared prefix */
	bool any_memory;       /* only described, never run: cuttle_plan_fits is not asked */
};

/* Sets all members to their defaults. Epsilon and the clip are NaN: set one of them. */
CUTTLE_API void cuttle_plan_params_default(struct cuttle_plan_params *params);

struct cuttle_plan;

/* Makes a plan. It keeps nothing of params. The model must outlive the plan. cuttle_plan_free frees
 * it.
 * USAGE: a parameter is out of range, prompts plus tokens do not fit the context, or the model has
 * no weights.
 * INTERNAL: the exhaustive check of the weight table failed.
 * NOMEM: also when a job would need more memory than the system says is available. That is counted
 * for the longest contexts that the plan allows. Jobs map that much, but touch only what their
 * texts need. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_plan_make(struct cuttle_model *model, const struct cuttle_plan_params *params,
                 struct cuttle_plan **plan, struct cuttle_error *error);

/* Frees the plan and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_plan_free(struct cuttle_plan **plan);

/* What a plan guarantees. Epsilons and rho are computed from the integers that are really used, and
 * rounded up. */
struct cuttle_guarantee {
	double epsilon;       /* by zCDP */
	double epsilon_exact; /* by exact composition; NaN where that is out of range */
	double delta;         /* for every event E, P[E] <= e^epsilon P'[E] + delta */
	double rho;           /* of zero-concentrated differential privacy */
	double clip;          /* in nats: clip_fixed / 2^fraction_bits */
	double temperature;   /* tau, rounded to six decimals */
	enum cuttle_accountant accountant;
	struct cuttle_savings savings; /* as the plan uses them */
	int32_t clip_fixed;            /* the clip as an integer */
	uint32_t fraction_bits;        /* F: logits are multiples of 2^-F */
	uint32_t batch;                /* B */
	uint32_t tokens;               /* T */
	uint32_t spread;               /* G */
	uint32_t top_k;                /* k */
	uint32_t context;              /* longest prompt plus text, in tokens */
	uint32_t public_tokens;        /* tokens of the public prompt */
	uint32_t shared_prefix;        /* tokens that every prompt begins with, computed once */
	uint32_t reference_tokens;     /* a reference is cut to so many tokens */
	uint32_t reference_bytes;      /* before that it is cut to so many bytes */
	bool private_output;           /* false when the plan is insecure */

	/* Epsilon was asked for, and this clip is the largest that the weight table holds. The
	 * epsilon above may then be less than the one asked for. */
	bool clip_capped;
};

/* Checks that a job of the plan fits the memory that the system has available now, with contexts as
 * long as they can be. cuttle_plan_make asks this, unless the plan may have any_memory. Ask before
 * private texts take memory: how much is left later must not decide how a job ends.
 * NOMEM: it may not fit; the message says how much is needed and how much there is. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_plan_fits(const struct cuttle_plan *plan,
                                                              struct cuttle_error *error);

/* Fills *guarantee. */
CUTTLE_API void cuttle_plan_describe(const struct cuttle_plan *plan,
                                     struct cuttle_guarantee *guarantee);

/* The prompts under heading number `heading`, in one canonical string for hashing. Without headings
 * the number is 0. NULL when there is no such heading. The string is public, since it holds
 * "{reference}" in the place of the reference. It belongs to the plan. */
CUTTLE_API const char *cuttle_plan_template(const struct cuttle_plan *plan, size_t heading);

/* ---- job ------------------------------------------------------------------------------------- */

/* Why a text ended. */
enum cuttle_finish {
	CUTTLE_FINISH_EOS,   /* the model ended the text */
	CUTTLE_FINISH_STOP,  /* the stop string was drawn */
	CUTTLE_FINISH_LENGTH /* the tokens were used up */
};

/* A complete text. */
struct cuttle_text {
	size_t index; /* number of the text, from 0 */

	/* Number of the batch of references it was written from. It differs from the index only
	 * with a token bank. */
	size_t batch;

	const char *text;     /* valid UTF-8 without the stop string, during the callback only */
	size_t size;          /* bytes of text */
	uint32_t tokens;      /* tokens drawn, the end token included */
	uint32_t free_tokens; /* those of them drawn from the public prompt alone */
	enum cuttle_finish finish; /* why it ended */
};

/* How far one job is. What an earlier run of it did is included. */
struct cuttle_progress {
	size_t texts;       /* N of the job */
	size_t texts_done;  /* those that are complete and handed out; with a token bank batches */
	size_t tokens_done; /* tokens drawn or replayed */
	const char *phase;  /* "prompt", "decode" or "done" */
};

struct cuttle_job {
	size_t struct_size; /* set by the default function */

	/* N: texts 0 .. N-1 are written; with a token bank, the texts of N batches. `text` in the
	 * callbacks `drawn` and `token` is a number 0 .. N-1. */
	size_t texts;

	size_t heading; /* number of the plan's heading for these texts; 0 when it has none */
	void *user;     /* first argument of the callbacks */

	/* Sets *text and *size to reference number `index`, 0 .. N*B-1. The text must stay valid
	 * until this is called for another text's batch or the job ends. The null reference is a
	 * text that is NULL, empty, blank, not UTF-8, or not finite under the model. This callback
	 * may not fail: it gives NULL for what it cannot read. Not NULL. */
	void (*reference)(void *user, size_t index, const char **text, size_t *size);

	/* To resume: returns how many tokens an earlier run recorded for this text, and sets
	 * *tokens to them. They are written as `token` was given them. They stay valid until the
	 * next call. They are replayed, never drawn again: two draws would spend twice. NULL =
	 * nothing was drawn. */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);

	/* A token was drawn. It is given as t, or as ~t when it came from the public prompt alone:
	 * token 5 is 5 or -6. Record it before anything else. Nonzero stops with PARTIAL. NULL =
	 * not recorded. */
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);

	/* A text is complete. Called in the order of the index. Nonzero stops the job with PARTIAL.
	 * Not NULL. */
	int (*text)(void *user, const struct cuttle_text *text);

	/* Called often, with public quantities only. Nonzero stops the job with PARTIAL. NULL =
	 * none. */
	int (*progress)(void *user, const struct cuttle_progress *progress);

	/* PRIVATE diagnostics of each step, see trace.h. NULL = none. */
	const struct cuttle_trace *trace;
};

/* Sets all members to 0 and NULL, except struct_size. */
CUTTLE_API void cuttle_job_default(struct cuttle_job *job);

/* Runs the plan: writes all texts of the job. Private texts cannot cause an error: each error
 * follows from public things.
 * USAGE: the plan has no such heading, struct_size is wrong, or the system refuses to lock memory.
 * PARTIAL: a callback asked to stop. Everything handed out stays valid.
 * INTERNAL: no entropy. Nothing is drawn after that.
 * MODEL: the public logits are not finite, or replayed tokens are outside the vocabulary or more
 * than the plan allows.
 * NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_job_run(struct cuttle_plan *plan, const struct cuttle_job *job, struct cuttle_error *error);

/* ---- bench ----------------------------------------------------------------------------------- */

struct cuttle_bench_params {
	size_t struct_size; /* sizeof this struct: there is no default function */
	uint32_t batch;     /* B; 0 = each text's public context alone */
	uint32_t parallel;  /* texts in flight; 0 = as cuttle_plan_make chooses */
	uint32_t prompt;    /* random tokens of each context, nothing shared; at least 4 */

	/* Tokens per text, at least 1. They are drawn, not simulated, with k = 100, epsilon = 10
	 * and delta = 1e-6. An end token does not end a text. */
	uint32_t steps;
};

/* The parts that a step's time is divided into. */
enum cuttle_bench_part {
	CUTTLE_GEMM,      /* products with the layers' matrices */
	CUTTLE_ATTENTION, /* scores and sums over the contexts */
	CUTTLE_ROWS,      /* norms, rotations and the like, row by row */
	CUTTLE_HEAD,      /* products with the output head */
	CUTTLE_DCLIP,     /* clipping and summing the private differences */
	CUTTLE_DRAW,      /* candidates, weights and the draw */
	CUTTLE_OTHER,     /* the rest of the step */
	CUTTLE_PARTS      /* number of parts */
};

struct cuttle_bench_result {
	uint32_t parallel;             /* texts in flight, really used */
	uint32_t threads;              /* worker threads, really used */
	double prompt_tokens_per_s;    /* prompt tokens of all contexts together, per second */
	double step_ms;                /* median over the steps */
	double step_p10_ms;            /* 10th percentile over the steps */
	double step_p90_ms;            /* 90th percentile over the steps */
	double rows_per_s;             /* parallel * (B + 1) per median step */
	double tokens_per_s;           /* parallel per median step */
	double parts_ms[CUTTLE_PARTS]; /* per step, means over the middle half of the steps */
	double weight_bytes;           /* bytes of weights read per step, each weight once */
	double multiply_adds;          /* multiply-adds of bytes by bytes, per step */
	uint64_t rss_bytes;            /* bytes of the process in memory, at the end */
};

/* Measures one setting, once. Other calls with the same model make it slower.
 * USAGE: a parameter is out of range, the model has no weights, or the system refuses to lock
 * memory.
 * NOMEM: as cuttle_plan_make.
 * INTERNAL: as cuttle_plan_make and cuttle_job_run.
 * MODEL: the public logits are not finite. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench(struct cuttle_model *model,
                                                          const struct cuttle_bench_params *params,
                                                          struct cuttle_bench_result *result,
                                                          struct cuttle_error *error);

/* Measures what this machine can do with the model's threads. *bytes becomes the bytes read from
 * DRAM per second. *multiply_adds becomes the multiply-adds of bytes per second, in registers, by
 * the kernels in use.
 * USAGE: the model has no weights. NOMEM: there are no 512 MiB to read. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench_ceilings(struct cuttle_model *model,
                                                                   double *bytes,
                                                                   double *multiply_adds,
                                                                   struct cuttle_error *error);

/* Bytes of this process in memory. 0 = the system does not say. */
CUTTLE_API uint64_t cuttle_bench_rss(void);

#ifdef __cplusplus
}
#endif

#endif
