# SPDX-License-Identifier: Apache-2.0
"""Times the masks of one peer on what build/masks draw wrote, in the same form as build/masks time.
usage: peer_masks.py llguidance|xgrammar|llama.cpp DRAWN.json [VOCAB.gguf LIBLLAMA.so]
Texts are followed twice with one compiled grammar. Times are in microseconds; "call" is what a call that
does nothing takes from here, and is part of each."""
import ctypes
import importlib.metadata
import json
import sys
import time

import numpy

clock = time.perf_counter_ns
LLAMA_TOKENS = 40


class LLGuidance:
    """Token bytes as they are; the schema by its own compiler, the letter by its gbnf_to_lark."""

    def __init__(self, drawn, _):
        import llguidance
        self.library = llguidance
        numbers = {bytes.fromhex(hexed): number for number, hexed in enumerate(drawn["tokens"]) if hexed}
        longest = max(map(len, numbers))

        class Tokens:
            eos_token_id, bos_token_id = drawn["ends"][0], None
            # What no text has is special; 0xff before it says so.
            tokens = [bytes.fromhex(hexed) or b"\xff<|%d|>" % number for number, hexed in enumerate(drawn["tokens"])]
            special_token_ids = [number for number, hexed in enumerate(drawn["tokens"]) if not hexed]

            # Where bytes are forced it asks how they are spelled: as the longest tokens.
            def __call__(self, text):
                text, ids = text if isinstance(text, bytes) else text.encode(), []
                while text:
                    size = next(size for size in range(min(len(text), longest), 0, -1) if text[:size] in numbers)
                    ids.append(numbers[text[:size]])
                    text = text[size:]
                return ids
        self.tokens = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()), eos_token=drawn["ends"])
        self.bits = numpy.zeros((len(drawn["tokens"]) + 31) // 32, dtype=numpy.int32)

    def compile(self, case):
        if case["schema"]:
            strict = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
            grammar = self.library.LLMatcher.grammar_from_json_schema(case["schema"], overrides=strict)
        else:
            from llguidance.gbnf_to_lark import any_to_lark
            grammar = self.library.LLMatcher.grammar_from_lark(any_to_lark(case["gbnf"]))
        self.matcher = self.library.LLMatcher(self.tokens, grammar)
        if self.matcher.is_error():
            raise ValueError(self.matcher.get_error())

    def begin(self):
        self.matcher.reset()
        address, size, compute = self.bits.ctypes.data, self.bits.nbytes, self.matcher.unsafe_compute_mask_ptr
        self.prepare = lambda: None
        self.mask = lambda: compute(address, size)
        self.step, self.nothing = self.matcher.consume_token, self.matcher.is_error

    def count(self):
        return int(numpy.bitwise_count(self.bits.view(numpy.uint32)).sum())

    def ended(self):
        return self.matcher.is_accepting() and not self.matcher.is_error()


class XGrammar:
    """Token bytes as they are; the schema by its own compiler, one thread, no cache between grammars."""

    def __init__(self, drawn, _):
        import xgrammar
        self.library = xgrammar
        tokens = [bytes.fromhex(hexed) for hexed in drawn["tokens"]]
        info = xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=drawn["ends"])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.bits = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, case):
        self.grammar = self.compiler.compile_json_schema(case["schema"], any_whitespace=False) if case["schema"] else \
            self.compiler.compile_grammar(case["gbnf"])

    def begin(self):
        self.matcher = self.library.GrammarMatcher(self.grammar)
        fill, bits = self.matcher.fill_next_token_bitmask, self.bits
        self.prepare = lambda: bits.fill_(-1)  # a mask of all is not written
        self.mask = lambda: fill(bits, 0)
        self.step, self.nothing = self.matcher.accept_token, self.matcher.is_terminated

    def count(self):
        return int(numpy.bitwise_count(self.bits.numpy().view(numpy.uint32)).sum())

    def ended(self):
        return bool(int(self.bits[0, self.end // 32]) >> self.end % 32 & 1)


class Llama:
    """llama_sampler_init_grammar with cuttle's own GBNF of the schema, applied to all tokens of its vocabulary."""

    class Params(ctypes.Structure):
        _fields_ = [("devices", ctypes.c_void_p), ("overrides", ctypes.c_void_p), ("numbers", ctypes.c_int32 * 5),
                    ("pointers", ctypes.c_void_p * 4), ("vocab_only", ctypes.c_bool), ("others", ctypes.c_bool * 5)]

    class Candidates(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("selected", ctypes.c_int64),
                    ("sorted", ctypes.c_bool)]

    def __init__(self, drawn, files):
        vocab, path = files
        library = self.library = ctypes.CDLL(path)
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
                ("llama_model_default_params", self.Params, []),
                ("llama_model_load_from_file", pointer, [text, self.Params]),
                ("llama_model_get_vocab", pointer, [pointer]),
                ("llama_sampler_init_grammar", pointer, [pointer, text, text]),
                ("llama_sampler_clone", pointer, [pointer]),
                ("llama_sampler_free", None, [pointer]),
                ("llama_sampler_apply", None, [pointer, ctypes.POINTER(self.Candidates)]),
                ("llama_sampler_accept", None, [pointer, ctypes.c_int32]),
                ("llama_sampler_get_seed", ctypes.c_uint32, [pointer]),
                ("llama_log_set", None, [pointer, pointer])):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, text, pointer)(lambda *_: None)
        library.llama_log_set(ctypes.cast(self.quiet, pointer), None)
        params = library.llama_model_default_params()
        params.vocab_only = True
        self.vocab = library.llama_model_get_vocab(library.llama_model_load_from_file(vocab.encode(), params))
        kind = numpy.dtype([("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)])
        self.fresh = numpy.zeros(len(drawn["tokens"]), dtype=kind)
        self.fresh["id"] = numpy.arange(len(self.fresh))
        self.data = self.fresh.copy()
        self.candidates = self.Candidates(self.data.ctypes.data, len(self.data), -1, False)
        self.base = self.sampler = None

    def compile(self, case):
        case["texts"] = [case["texts"][0][:LLAMA_TOKENS]]  # it takes a thousand times as long as others
        self.base = self.library.llama_sampler_init_grammar(self.vocab, case["gbnf"].encode(), b"root")
        if not self.base:
            raise ValueError("refused")

    def begin(self):
        if self.sampler:
            self.library.llama_sampler_free(self.sampler)
        sampler = self.sampler = self.library.llama_sampler_clone(self.base)
        apply, accept, candidates = self.library.llama_sampler_apply, self.library.llama_sampler_accept, self.candidates
        reference = ctypes.byref(candidates)
        self.prepare = lambda: numpy.copyto(self.data, self.fresh)
        self.mask = lambda: apply(sampler, reference)
        self.step = lambda token: (accept(sampler, token), True)[1]
        seed = self.library.llama_sampler_get_seed
        self.nothing = lambda: seed(sampler)

    def count(self):
        return int(numpy.isfinite(self.data["logit"]).sum())

    def ended(self):
        return bool(numpy.isfinite(self.data["logit"][self.end]))


def follow(side, case, ends):
    masks, steps, allowed = [], [], 0
    for text in case["texts"]:
        side.begin()
        for token in text:
            side.prepare()
            begin = clock()
            side.mask()
            middle = clock()
            allowed += side.count()
            before = clock()
            fine = side.step(token)
            end = clock()
            if not fine:
                raise ValueError("a text is refused")
            masks.append((middle - begin) / 1e3)
            steps.append((end - before) / 1e3)
        side.prepare()
        side.mask()
        side.end = ends[0]
        if len(text) != LLAMA_TOKENS and not side.ended():
            raise ValueError("a text does not end")
    return masks, steps, allowed


def measure(side, drawn):
    out, call = [], []
    for case in drawn["cases"]:
        try:
            begin = clock()
            side.compile(case)
            compiled = (clock() - begin) / 1e3
            first, step, allowed = follow(side, case, drawn["ends"])
            again, step_again, _ = follow(side, case, drawn["ends"])
        except Exception as error:  # pylint: disable=broad-except
            out.append({"name": case["name"], "refused": str(error).splitlines()[0]})
            continue
        out.append({"name": case["name"], "compile": compiled, "first": first, "again": again, "step": step,
                    "step_again": step_again, "allowed": allowed})
        for _ in range(1000):
            begin = clock()
            side.nothing()
            call.append((clock() - begin) / 1e3)
    return {"call": sorted(call)[len(call) // 2] if call else 0, "cases": out}


def main():
    name, path, *files = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        drawn = json.load(file)
    side = {"llguidance": LLGuidance, "xgrammar": XGrammar, "llama.cpp": Llama}[name](drawn, files)
    result = measure(side, drawn)
    result["version"] = "sdist llama-cpp-python 0.3.36" if name == "llama.cpp" else importlib.metadata.version(name)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
