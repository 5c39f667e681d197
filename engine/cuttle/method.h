// SPDX-License-Identifier: Apache-2.0
// method.h: the methods by which a plan's texts are drawn, and their parameters.
// A plan takes them in struct cuttle_plan_params; receipts name the method.
// No private data: all numbers are public.
// Example: params.method = CUTTLE_DP_PROMPT, params.batch = 1, params.method_params.clip_width = 5.
#ifndef CUTTLE_METHOD_H
#define CUTTLE_METHOD_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a token is drawn from the public row and the private ones (dp/PRIVACY.md). InvisibleInk is
 * what cuttle is for; the others are there to compare with. */
enum cuttle_method {
	CUTTLE_INVISIBLEINK, /* NeurIPS 2025, Algorithm 1 */
	CUTTLE_AMIN,         /* Amin et al. 2024: clipped logits, and public tokens by a test */
	CUTTLE_PMIXED,       /* Flemings et al. 2024: a mean of laws, each near the public one */
	CUTTLE_ADAPMIXED,    /* Flemings et al. 2025: NOT PRIVATE, its loss follows from the data */
	CUTTLE_DP_DECODING,  /* Majmudar et al. 2022: one row, mixed with the uniform law */
	CUTTLE_DP_PROMPT,    /* Utpala et al. 2023: one row, its logits clipped to a width */
	CUTTLE_NONE          /* NOT PRIVATE: no clip at all; what an audit must catch */
};
enum { CUTTLE_METHODS = CUTTLE_NONE + 1 };

/* An order of pmixed without a limit. */
#define CUTTLE_ORDER_INFINITE UINT32_MAX

/* Parameters of all methods but InvisibleInk. A method has some of them; one that it has not must
 * stay "not given". A real number that is not given is NaN, a count 0, a flag false. */
struct cuttle_method_params {
	double clip_width;         /* dp-prompt: W, nats between the ends of the clip */
	double svt_noise;          /* amin: sigma of the test's noise */
	double svt_threshold;      /* amin: theta, a distance between laws, 0 to 2 */
	double temperature_public; /* amin: of free tokens */
	double divergence;         /* pmixed, adapmixed: how far a law may be from the public one */
	double record_budget; /* pmixed, its filter's, and adapmixed, where its texts turn public:
	                       * a Renyi loss; follows from epsilon */
	double mix;           /* dp-decoding: lambda, the share of the model's law */
	uint32_t units;       /* amin: r, thresholds of a text */
	uint32_t order;       /* pmixed: of the divergence; 2 and more, or infinite */
	bool record_filter;   /* pmixed: each record has a budget of its own */

	/* The caller knows that nothing is promised. Methods that are NOT PRIVATE need it. */
	bool not_private;
};

/* Sets all of them to "not given". */
CUTTLE_API void cuttle_method_params_none(struct cuttle_method_params *params);

/* The name, as "dp-prompt"; NULL = there is no such method. */
CUTTLE_API const char *cuttle_method_name(enum cuttle_method method);

/* Whether the method promises anything. If not, all its texts are stamped NOT PRIVATE. */
CUTTLE_API bool cuttle_method_promises(enum cuttle_method method);

enum cuttle_field_kind {
	CUTTLE_FIELD_REAL,  /* double */
	CUTTLE_FIELD_COUNT, /* uint32_t */
	CUTTLE_FIELD_FLAG   /* bool */
};

/* A member of struct cuttle_method_params, but not_private. */
struct cuttle_method_field {
	const char *name; /* as "clip_width"; the option is --clip-width */
	size_t offset;
	enum cuttle_field_kind kind;
	unsigned methods; /* bit m: method m has it */
};

/* All of them; *count is their number. The list is static. */
CUTTLE_API const struct cuttle_method_field *cuttle_method_fields(size_t *count);

/* Checks what contradicts itself, before a model is open: a parameter of another method, a method
 * that promises nothing without not_private, and the reverse. NULL = nothing; else what is wrong,
 * in words that name options. The words stay until the next call of the same thread. */
CUTTLE_API const char *cuttle_method_fault(enum cuttle_method method,
                                           const struct cuttle_method_params *params);

/* What a unit of a method costs, after any past, and so what can be said of all its units. */
enum cuttle_claim_kind {
	CUTTLE_CLAIM_RANGE,  /* bounded range eta: rho, exact composition, every ledger of rho */
	CUTTLE_CLAIM_RHO,    /* rho of zCDP: every ledger of rho */
	CUTTLE_CLAIM_ORDER,  /* a Renyi loss at one order: only a ledger of that order */
	CUTTLE_CLAIM_NOTHING /* no promise: no ledger counts it */
};

/* What the method's mechanism says that one text costs at most, before a record is read. */
struct cuttle_method_claim {
	enum cuttle_claim_kind kind;
	bool null_is_public; /* a null reference counts as the public row; else it adds nothing */
	uint32_t units;      /* of a text, at most: tokens; of amin thresholds */
	double unit;         /* cost of one: eta, rho or Renyi loss by kind; NaN = no promise */
	uint32_t order;      /* of that loss; else 0 */
	double loss;         /* Renyi loss of all units; else NaN */

	/* Of one reference: epsilon of a token between any two texts, without delta; else NaN. */
	double epsilon_pair;

	/* Of a method that promises nothing: epsilon of the worst case, where there is one. */
	double epsilon_worst;
};

#ifdef __cplusplus
}
#endif

#endif
