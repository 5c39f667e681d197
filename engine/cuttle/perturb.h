// SPDX-License-Identifier: Apache-2.0
// perturb.h: replaces each word of a text by a random one of a public list, before the text leaves.
// The list is that of words.h. A perturber fixes all that the guarantee depends on.
// Private data: places, and output ids that say kept. Other ids may go out under the guarantee.
// How: the caller cuts a text into places. Each place gives one output id.
// Example: V 11000: "severe", a null and "17" give 4711, 802 and 11016, the number 17 by chance.
// Method CUTTLE_RANK is proven (dp/PRIVACY.md). The others are published baselines, to be compared
// with: none of them is counted by a ledger. cuttle_perturber_describe says so in a sentence.
#ifndef CUTTLE_PERTURB_H
#define CUTTLE_PERTURB_H

#include "model.h"
#include "words.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cuttle_word_method {
	CUTTLE_RANK,         /* cuttle's own: epsilon-local differential privacy of each word */
	CUTTLE_RANTEXT,      /* Tong et al. 2023, InferDPT, Algorithm 2 */
	CUTTLE_SANTEXT,      /* Yue et al. 2021 */
	CUTTLE_SANTEXT_PLUS, /* the same; only words of a list are always replaced */
	CUTTLE_CUSTEXT,      /* Chen et al. 2023, over a public partition of the words */
	CUTTLE_CUSTEXT_PLUS  /* the same; stop words and unknown words go out as they are */
};

enum cuttle_rank_table {
	CUTTLE_STEP,    /* the k nearest words alike, all others alike */
	CUTTLE_ENVELOPE /* falls with the rank: no k to choose */
};

/* All strings and arrays must be public. They are read and copied by cuttle_perturber_make. */
struct cuttle_perturb_params {
	size_t struct_size; /* set by the default function */
	enum cuttle_word_method method;
	uint32_t epsilon_millionths;  /* of one word, 1 .. 64,000,000; default 6,000,000 = 6 */
	enum cuttle_rank_table table; /* CUTTLE_RANK */
	uint32_t near;                /* k of CUTTLE_STEP, 1 .. V-1; default 20 */

	/* CUTTLE_RANTEXT: Z, which scales the radius, is fitted to this mean share of the words in
	 * a list; 0 < share < 1, default .1. paper_radius: Z of the paper, for its own vectors. */
	double list_share;
	bool paper_radius;

	/* CUTTLE_SANTEXT_PLUS: the words that are always replaced, at least one of the V; and how
	 * likely another known word goes out as it is: 0 .. 1, default .7. */
	const char *const *sensitive;
	size_t sensitive_count;
	double keep_share;

	const char *const *stop_words; /* CUTTLE_CUSTEXT_PLUS: words that go out as they are */
	size_t stop_word_count;
	uint32_t set_size; /* K, CUTTLE_CUSTEXT and _PLUS: words of a set, 2..V; default 20 */

	bool insecure;          /* NOT PRIVATE: draws from insecure_seed */
	uint64_t insecure_seed; /* any number */
};

CUTTLE_API void cuttle_perturb_params_default(struct cuttle_perturb_params *params);

/* What a perturber guarantees, for a receipt. All of it is public. */
struct cuttle_perturb_guarantee {
	bool
	    private_output; /* method CUTTLE_RANK, and not insecure; nothing else is ever counted */
	double epsilon_word; /* of one place; NaN unless private_output */
	double epsilon_text; /* N epsilon_word; NaN unless private_output, and N was given */
	char sentence[640];  /* the guarantee in plain words, or that there is none, and why */
	uint32_t words;      /* V */
	uint32_t near;       /* k; 0 but for CUTTLE_STEP */

	/* CUTTLE_RANK: integers of its table in decimal, as in dp/rank.h; "" for others. */
	char table_first[80]; /* weight of the nearest word */
	char table_last[80];  /* weight of the farthest */
	char table_total[80]; /* sum of all */

	double list_scale; /* CUTTLE_RANTEXT: Z; NaN for others */
};

struct cuttle_perturber;

/* Makes a perturber; cuttle_perturber_free frees it. `words` must outlive it, and so must `model`,
 * from whose tokens unknown words get a vector. Without a model (NULL) those words are null.
 * USAGE: a parameter is out of range. INTERNAL: a self check failed. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_perturber_make(const struct cuttle_words *words, struct cuttle_model *model,
                      const struct cuttle_perturb_params *params,
                      struct cuttle_perturber **perturber, struct cuttle_error *error);
/* Frees it and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_perturber_free(struct cuttle_perturber **perturber);

/* As cuttle_perturb_budget (perturb_budget.h), which needs no words, and list_scale with it.
 * `record_words`: N, when each record has exactly N places, filled with nulls; 0 otherwise.
 * USAGE: N is out of range. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_perturber_describe(const struct cuttle_perturber *perturber, uint32_t record_words,
                          struct cuttle_perturb_guarantee *guarantee, struct cuttle_error *error);

/* What stands at a place. Which kind it is, is private, too, but for numbers that are kept. */
enum cuttle_place_kind {
	CUTTLE_PLACE_NULL,  /* no word: the output is any of the V words */
	CUTTLE_PLACE_WORD,  /* a word as words.h has them: lower case, letters */
	CUTTLE_PLACE_NUMBER /* the output is any number of 1 .. 1000: so this kind is visible */
};

/* PRIVATE. */
struct cuttle_place {
	enum cuttle_place_kind kind;
	const char *word; /* CUTTLE_PLACE_WORD: UTF-8, without a final zero; else not read */
	size_t size;      /* bytes of `word` */
};

/* Output ids. 0 .. V-1 is a word of `words`. The others count from V: */
#define CUTTLE_OUTPUT_NUMBERS 1000 /* V + n with n below this is the number n + 1 */
#define CUTTLE_OUTPUT_KEPT 1000    /* V + 1000: the place goes out as it is. Baselines only */
#define CUTTLE_OUTPUT_DROPPED 1001 /* V + 1001: nothing stands there. CUTTLE_RANTEXT only */

/* Writes ids [count], one for each place. CUTTLE_RANK draws for all places before it looks at any.
 * Each call draws anew: never call it twice for one place. `text` and `first`, the number of the
 * text and of the first place in it, are read by an insecure perturber only: its draws are a
 * function of seed, text and place. One thread at a time may use a perturber.
 * INTERNAL: no entropy. NOMEM. Then ids must not be used; neither depends on a place. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_perturb(struct cuttle_perturber *perturber,
                                                            uint64_t text, uint64_t first,
                                                            const struct cuttle_place *places,
                                                            size_t count, int32_t *ids,
                                                            struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
