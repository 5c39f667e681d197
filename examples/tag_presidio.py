#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tagger for cuttle: finds spans with Microsoft Presidio.

    pip install presidio-analyzer && python3 -m spacy download en_core_web_lg
    cuttle tag -i docs.jsonl -o tagged.jsonl --tagger "python3 examples/tag_presidio.py"

cuttle starts it once and gives it a line for each document, {"id":1,"text":".."}. It answers each
with a line, {"id":1,"spans":[{"start":0,"end":7,"entity_type":"PERSON","score":0.9}]}. Offsets count
code points, as Python does. To see what is wrong when cuttle says that the tagger ended:

    echo '{"id":1,"text":"Dr. Roe"}' | python3 examples/tag_presidio.py

--check ends with 0 when Presidio and its model are installed. An argument is the language, en.
"""
import json
import sys


def make_analyzer(language):
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    import spacy.util

    # Installed models are called as en_core_web_lg: of the language's, the largest is taken.
    models = [name for name in spacy.util.get_installed_models() if name.startswith(language + "_core_")]
    models.sort(key=lambda name: [size in name for size in ("_lg", "_md", "_sm")], reverse=True)
    if not models:
        sys.exit("no spaCy model of the language %s: python3 -m spacy download %s_core_web_lg" % (language, language))
    configuration = {"nlp_engine_name": "spacy", "models": [{"lang_code": language, "model_name": models[0]}]}
    engine = NlpEngineProvider(nlp_configuration=configuration).create_engine()
    return AnalyzerEngine(nlp_engine=engine, supported_languages=[language])


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    language = arguments[0] if arguments else "en"
    analyzer = make_analyzer(language)
    if "--check" in sys.argv:
        return
    for line in sys.stdin:
        document = json.loads(line)
        found = analyzer.analyze(text=document["text"], language=language)
        spans = [
            {"start": one.start, "end": one.end, "entity_type": one.entity_type, "score": one.score}
            for one in found
            if one.start < one.end
        ]
        # cuttle waits for the answer: it must not stay in a buffer.
        print(json.dumps({"id": document["id"], "spans": spans}), flush=True)


if __name__ == "__main__":
    main()
