// SPDX-License-Identifier: Apache-2.0
// convert.h: turns a Hugging Face folder, of the kinds in hf_config.c, into a GGUF file.
// It reads public model files only; no private data passes here. The memory it needs does not grow
// with the size of the weights.
#ifndef CUTTLE_CONVERT_CONVERT_H
#define CUTTLE_CONVERT_CONVERT_H

#include "convert/rewrite.h"

/* Reads config.json, tokenizer.json, tokenizer_config.json, chat_template.jinja and the safetensors
 * of `folder`. Writes `output` with the matrices in `type`. tokenizer_config.json and
 * chat_template.jinja may be absent.
 * MODEL: a file is missing or malformed, or a setting cannot be expressed in GGUF for that kind of
 * model; the message names it. INTERNAL: `output` cannot be written. NOMEM: out of memory. */
enum cuttle_status convert(const char *folder, const char *output, const struct weight_type *type,
                           const struct rewrite_report *report, struct cuttle_error *error);

#endif
