// SPDX-License-Identifier: Apache-2.0
// evaluation.h: from texts and what a model made of them to a table of numbers with errors.
//
// References may be PRIVATE. Then every number here is, too: nothing protects it. No files, no
// printing. A row compares a set of texts with references. The rows are
//   real against real    every other reference against those between: the best that is possible
//   public prompt alone  the baseline: what the model writes without a reference
//   a run                synthetic texts, one row a file
// Sources: methods and errors: see the functions of measure/ that each number comes from.
#ifndef CUTTLE_WORKFLOW_EVALUATE_EVALUATION_H
#define CUTTLE_WORKFLOW_EVALUATE_EVALUATION_H

#include "io/disk/hash.h"
#include "measure/bins.h"
#include "workflow/text_set.h"

/* What a table of private references says, in each of its forms. */
#define EVALUATE_STAMP                                                                             \
	"PRIVATE: computed from the references without protection. Keep it where the references "  \
	"are; do not publish it."
/* And what one says of texts that nothing protects. */
#define EVALUATE_STAMP_RUN                                                                         \
	"PRIVATE: a run says NOT PRIVATE, so its numbers may tell of the references that it was "  \
	"drawn from. Keep the table where they are; do not publish it."

/* What the numbers of next tokens are, in each form of the table but CSV. */
#define EVALUATE_NEXT                                                                              \
	"Next tokens of the references, guessed by a small model that the texts taught: an "       \
	"interpolated 4-gram (Witten-Bell) with a cache, over the tokens of the model. It is no "  \
	"BERT: compare rows of this table, not with accuracies of papers."

enum {
	EVALUATE_FORMAT = 1,     /* the number in the member "evaluation" of the JSON */
	EVALUATION_LEAST = 4,    /* texts of a file, at least: halves of two */
	EVALUATION_ENOUGH = 100, /* texts of each set: with fewer a table tells nothing */
	EVALUATION_CLASSES = 64  /* different labels of a task, at most */
};

/* A number and its error. */
struct evaluation_cell {
	double value; /* NaN: there is none */
	double error; /* as the column says; NaN: it has none */
};

/* Columns, in the order of the table. */
enum {
	EVALUATION_MAUVE,       /* c = .9 */
	EVALUATION_MAUVE_SEEDS, /* its standard deviation over seeds of k-means */
	EVALUATION_FINE,        /* MAUVE with c = 5 */
	EVALUATION_FINE_SEEDS,  /* the same of it */
	EVALUATION_FRONTIER,    /* frontier integral: 0 = equal */
	EVALUATION_PERPLEXITY,  /* mean */
	EVALUATION_MEDIAN,      /* of the perplexities: one short text moves the mean by hundreds */
	EVALUATION_DPPL,        /* mean |PPL(x) - mean PPL(references)| */
	EVALUATION_DPPL_MEANS,  /* |mean PPL - mean PPL(references)| */
	EVALUATION_LENGTH,      /* mean tokens, with EOS where the text ended by itself */
	EVALUATION_LENGTH_KS,   /* distance of its law from that of the references */
	EVALUATION_ENDED,       /* share of texts that ended by themselves */
	EVALUATION_DISTINCT_1,  /* different words, as a share of all */
	EVALUATION_DISTINCT_2,  /* pairs of words */
	EVALUATION_DISTINCT_3,  /* and three */
	EVALUATION_REPEATS,     /* share of a text's 4-grams that stand earlier in it */
	EVALUATION_COPIES,      /* share of texts whose words are those of an earlier one */
	EVALUATION_COSINE,      /* mean of pairs */
	EVALUATION_ENTITIES,    /* terms of the lexicon in a text */
	EVALUATION_BAYES,       /* accuracy of naive Bayes that learnt from these texts */
	EVALUATION_BAYES_RECALL, /* its mean recall */
	EVALUATION_PROBE,        /* accuracy of logistic regression on vectors */
	EVALUATION_PROBE_RECALL, /* its mean recall */
	// These two are numbers of references that answer through noise, and the same of texts.
	EVALUATION_NEAR_LENGTH, /* mean of min(tokens, 512), clamped around the runs' mean */
	EVALUATION_NEAR_LOSS,   /* mean of -ln P of a token, clamped likewise */
	// Next tokens of references, guessed by a small model that the texts taught: a 4-gram with
	// a cache (measure/next_token.h). Differences are on the same references.
	EVALUATION_NEXT,             /* share of tokens guessed */
	EVALUATION_NEXT_BITS,        /* mean of -log2 P of a token */
	EVALUATION_NEXT_REAL,        /* the share, less that of real against real */
	EVALUATION_NEXT_REAL_BITS,   /* the same of bits: more is worse */
	EVALUATION_NEXT_PUBLIC,      /* the share, less that of the public prompt alone */
	EVALUATION_NEXT_PUBLIC_BITS, /* the same of bits */
	EVALUATION_COLUMNS
};

enum evaluation_error {
	EVALUATION_NO_ERROR,
	EVALUATION_DEVIATION, /* a standard deviation */
	EVALUATION_HALF_WIDTH /* half of the interval that holds the mean with 99 % */
};

struct evaluation_column {
	const char *key;     /* in JSON and CSV */
	const char *heading; /* in Markdown */
	enum evaluation_error error;
	int digits; /* behind the point, in Markdown */
};
extern const struct evaluation_column evaluation_columns[EVALUATION_COLUMNS];

enum evaluation_kind {
	EVALUATION_REAL,
	EVALUATION_PUBLIC,
	EVALUATION_RUN,
	EVALUATION_NOISY /* references that answer through noise */
};

struct evaluation_row {
	enum evaluation_kind kind;
	const char *name;       /* path of its file, the caller's */
	char sha256[HASH_TEXT]; /* of its file; "" = of references, or of what was no file */
	size_t texts;           /* of the row */
	size_t against;         /* references it is compared with */
	size_t unreadable;      /* records of its file without a text */
	struct evaluation_cell cells[EVALUATION_COLUMNS];
};

/* Two rows that are no halves of the references, compared by MAUVE with c = 5. At .9 good runs are
 * all near 1, and their order is lost in the error. */
struct evaluation_pair {
	size_t one;   /* row with the higher score */
	size_t other; /* row with the lower one */
	double difference;
	double deviation; /* of the difference, over resamples */
	double p;         /* two-sided */
	double holm;      /* Holm's p over all pairs of the table */
};

/* Numbers that a histogram is made of. */
enum {
	EVALUATION_LENGTHS,      /* tokens of a text, with EOS where it ended by itself */
	EVALUATION_PERPLEXITIES, /* of a text; one of a single token has none */
	EVALUATION_CLUSTERED,    /* the text's cluster of MAUVE */
	EVALUATION_HISTOGRAMS
};
extern const char *const evaluation_histograms[EVALUATION_HISTOGRAMS]; /* keys in JSON */

struct evaluation_histogram {
	size_t bins;
	double *edges;    /* [bins + 1], see measure/bins.h; NULL: a bin is a cluster */
	uint32_t *counts; /* [1 + row_count][bins]: all references, then the texts of each row */
};

struct evaluation {
	struct evaluation_row *rows; /* [row_count] */
	size_t row_count;
	struct evaluation_pair *pairs; /* [pair_count] */
	size_t pair_count;
	size_t references; /* texts of the references */
	size_t unreadable; /* records of the references without a text */
	size_t clusters;   /* of MAUVE */
	size_t axes;       /* that the vectors were reduced to */
	/* Texts of a row that distinct, repeats, copies and cosine look at, and that teach next
	 * tokens. */
	size_t compared;
	size_t classes;   /* different labels; 0 = no task */
	size_t tested;    /* texts that the task is tested on */
	double commonest; /* share of them that has the commonest label */
	struct evaluation_histogram histograms[EVALUATION_HISTOGRAMS];
};

/* Numbers within such a distance of their centre count as they are. */
enum {
	EVALUATION_REACH = 256,         /* of lengths in tokens, of losses in parts of a nat */
	EVALUATION_LOSS_PARTS = 64,     /* of a nat: 256 of them are 4 nats */
	EVALUATION_CLUSTERS_MOST = 1000 /* clusters that references vote for */
};

/* What each reference says, one number a record: PRIVATE. A null record votes for none and has 0.
 */
struct evaluation_sayings {
	const uint32_t *votes;  /* [count] the nearest cluster, or CUTTLE_NO_VOTE */
	const int32_t *lengths; /* [count] tokens, less their centre */
	const int32_t *losses;  /* [count] parts of a nat, less their centre */
	size_t count;           /* records, null ones, too */
	size_t clusters;
};

/* How references are asked through noise (dp/PRIVACY.md, step 50). */
struct evaluation_noise {
	/* Sets answers[clusters + 2]: noisy votes, noisy sums of lengths and of losses. */
	enum cuttle_status (*ask)(void *user, const struct evaluation_sayings *sayings,
	                          int64_t *answers, struct cuttle_error *error);
	void *user;
	double vote_deviation; /* standard deviation of the noise of a count */
	double sum_deviation;  /* of a sum */
};

/* What is evaluated. All sets hold vectors of one width; `test` may have none, when they were
 * imported. */
struct evaluation_input {
	const struct text_set *references;
	const struct text_set *baseline; /* NULL = none */
	const struct text_set *runs;     /* [run_count] */
	size_t run_count;
	const struct text_set *test; /* of the task, with labels; NULL = no task */
	const char *lexicon;         /* terms, one a line; NULL = none */
	size_t lexicon_size;         /* bytes */
	/* Next tokens are guessed, of sets that hold tokens (text_set_tokenize), all below this; 0
	 * = they are not. */
	uint32_t vocabulary;
	/* The references, which text_set_read_all read, answer through it alone; then only numbers
	 * that follow from its answers and from the other sets are made. NULL = they are read. */
	const struct evaluation_noise *noise;
};

/* Clusters that references vote for: by the number of texts of each file, and of records of the
 * references, readable or not. */
size_t evaluation_clusters(const struct evaluation_input *input);

/* Sets *evaluation; call evaluation_free in any case. Numbers follow from the input alone.
 * INPUT: a set has fewer than EVALUATION_LEAST texts; vectors of different widths; the task has
 * fewer than two labels or too many. NOMEM. */
enum cuttle_status evaluation_make(const struct evaluation_input *input,
                                   struct evaluation *evaluation, struct cuttle_error *error);
/* Texts of the smallest set that a table compares. */
size_t evaluation_fewest(const struct evaluation *evaluation);
void evaluation_free(struct evaluation *evaluation);

#endif
