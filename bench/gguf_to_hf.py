# SPDX-License-Identifier: Apache-2.0
"""The weights of a GGUF file as floats in a Hugging Face folder, for peers that quantise themselves.
usage: gguf_to_hf.py MODEL.gguf FOLDER"""
import os
import sys

from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

source, target = sys.argv[1:3]
folder, name = os.path.split(os.path.abspath(source))
loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name)
config = loaded.config
# Left in, it makes every later load look for a quantised checkpoint.
if hasattr(config, "quantization_config"):
    del config.quantization_config
model = LlamaForCausalLM(config).float()
# strict=False: a tied head has no tensor of its own.
model.load_state_dict({key: value.float() for key, value in loaded.state_dict().items()}, strict=False)
model.save_pretrained(target)
AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(target)
