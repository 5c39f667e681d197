// SPDX-License-Identifier: Apache-2.0
// The library in one page: writes two private texts from six references, three for each text.
// Usage: example MODEL.gguf
#include "engine/cuttle.h"

#include <stdio.h>
#include <string.h>

static const char *const REFERENCES[] = {
    "Ada Brook, 41, gardener. Sprained the left ankle on wet steps. Swelling, no fracture on "
    "X-ray. Rest, ice, elastic bandage.",
    "Tom Vale, 67, retired. Cough and fever for four days. Crackles at the right base. "
    "Amoxicillin, review in two days.",
    "Mina Orr, 29, teacher. Migraine with aura since morning. Neurological examination normal. "
    "Ibuprofen and a dark room.",
    "Jon Peck, 54, driver. Blood pressure 162/95 on three visits. Started on amlodipine 5 mg, "
    "bloods taken.",
    "Lea Holt, 8, pupil. Itchy rash behind both knees. Eczema. Emollient and a mild steroid cream "
    "for a week.",
    "Sam Reed, 73, widower. Sleeps badly and eats little. Low mood for two months. Talking therapy "
    "arranged.",
};

/* Gives reference number `index`. It must stay valid until the job asks for another text's. */
static void give_note(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = REFERENCES[index];
	*size = strlen(*text);
}

static int print_text(void *user, const struct cuttle_text *text) {
	(void)user;
	printf("--- text %zu, %u tokens ---\n%.*s\n", text->index, (unsigned)text->tokens,
	       (int)text->size, text->text);
	return ferror(stdout); // nonzero stops the job
}

static int report_failure(const struct cuttle_error *error) {
	fprintf(stderr, "example: %s\n", error->message);
	return 1;
}

int main(int argc, char **argv) {
	struct cuttle_error error;
	struct cuttle_model *model;
	struct cuttle_plan *plan = NULL;
	struct cuttle_plan_params params;
	struct cuttle_guarantee guarantee;
	struct cuttle_job job;
	if (argc != 2) {
		fprintf(stderr, "usage: example MODEL.gguf\n");
		return CUTTLE_USAGE;
	}
	if (cuttle_model_open(argv[1], NULL, &model, &error)) return report_failure(&error);

	// Everything that the guarantee depends on is fixed here, before a reference is read.
	cuttle_plan_params_default(&params);
	params.epsilon = 10;
	params.batch = 3;
	params.tokens = 24;
	params.kind = "clinical note";
	enum cuttle_status status = cuttle_plan_make(model, &params, &plan, &error);
	if (!status) {
		cuttle_job_default(&job);
		job.texts = 2;
		job.reference = give_note;
		job.text = print_text;
		status = cuttle_job_run(plan, &job, &error);
	}
	if (!status) {
		cuttle_plan_describe(plan, &guarantee);
		printf("--- (epsilon = %.4f, delta = %g)-differentially private for each reference "
		       "---\n",
		       guarantee.epsilon_exact, guarantee.delta);
	}
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
	return status ? report_failure(&error) : 0;
}
