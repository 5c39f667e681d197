// SPDX-License-Identifier: Apache-2.0
// hf_folder.h: writes Hugging Face folders, for tests of conversion. The vocabulary is the one of
// tests/support/tiny_model.h, as tokenizer.json. The weights are a safetensors file.
// A failure to write ends the test.
#ifndef CUTTLE_TESTS_HF_FOLDER_H
#define CUTTLE_TESTS_HF_FOLDER_H

#include "convert/weight_type.h"

#include <stdio.h>

/* Makes a new folder in /tmp and writes its name to path[64]. hf_folder_remove removes it with all
 * its files. */
void hf_folder_make(char path[64]);
void hf_folder_remove(const char *path);

/* Opens a new file of the folder. The caller writes and closes it. */
FILE *hf_folder_file(const char *path, const char *name);

/* Writes tokenizer.json and tokenizer_config.json. */
void hf_folder_tokenizer(const char *path);

struct hf_tensor {
	char name[128];
	size_t rows;   /* 0: a vector */
	size_t row;    /* values of one row */
	float *values; /* [rows][row], or [row] of a vector */
};

/* Writes model.safetensors, all tensors in one type: F32, F16 or BF16. No value may be too large
 * for it. */
void hf_folder_weights(const char *path, enum weight_name type, const struct hf_tensor *tensors,
                       size_t count);

#endif
