// SPDX-License-Identifier: Apache-2.0
// cuttle model convert: a Hugging Face folder of Llama, Mistral, Qwen2 or Qwen3 becomes a GGUF file.
#ifndef CUTTLE_CONVERT_CONVERT_H
#define CUTTLE_CONVERT_CONVERT_H

#include "convert/rewrite.h"

/* Reads config.json, tokenizer.json, tokenizer_config.json and the safetensors of `folder`, writes `output` with the matrices in `type`.
 * MODEL: a file is missing or malformed, or says something that GGUF cannot express of that kind of model; the message names it. INTERNAL:
 * cannot be written. NOMEM. */
enum cuttle_status convert(const char *folder, const char *output, const struct weight_type *type, const struct rewrite_report *report,
                           struct cuttle_error *error);

#endif
