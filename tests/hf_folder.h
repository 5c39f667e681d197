// SPDX-License-Identifier: Apache-2.0
// Writes Hugging Face folders, for tests of conversion: the tiny vocabulary of tests/tiny_model.h as tokenizer.json, weights as
// safetensors. What cannot be written ends the test.
#ifndef CUTTLE_TESTS_HF_FOLDER_H
#define CUTTLE_TESTS_HF_FOLDER_H

#include "convert/weight_type.h"

#include <stdio.h>

/* A new folder in /tmp, its name in path[64]; and its end, with all files in it. */
void hf_folder_make(char path[64]);
void hf_folder_remove(const char *path);

/* A file of the folder, to be written and closed. */
FILE *hf_folder_file(const char *path, const char *name);

/* tokenizer.json and tokenizer_config.json. */
void hf_folder_tokenizer(const char *path);

struct hf_tensor {
	char name[128];
	size_t rows, row; /* rows 0: a vector */
	float *values;    /* [rows or 1][row] */
};

/* model.safetensors, all tensors of one type: F32, F16 or BF16, which must hold the values. */
void hf_folder_weights(const char *path, enum weight_name type, const struct hf_tensor *tensors, size_t count);

#endif
