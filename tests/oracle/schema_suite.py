#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""io/schema against JSON-Schema-Test-Suite, draft 2020-12.

usage: schema_suite.py GEN_SCHEMA FOLDER   FOLDER is tests/draft2020-12 of the suite; it also comes in
the source archive of Python's jsonschema, as json/tests/draft2020-12.
Each schema is tried as it is, and once more with the type that its keywords are about: cuttle refuses
schemas that do not say one. There the expected verdicts are jsonschema's; without it that is skipped.
A record that fits loses members that the schema lacks, so what is judged is its form.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

ABOUT = {"properties": "object", "required": "object", "additionalProperties": "object",
         "minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
         "minimum": "number", "maximum": "number", "exclusiveMinimum": "number",
         "exclusiveMaximum": "number", "multipleOf": "integer", "items": "array", "prefixItems": "array",
         "minItems": "array", "maxItems": "array", "uniqueItems": "array"}
# File, words of the description, and why the verdict is another one.
CLASSES = "Python's re, which says what is valid here, takes all of Unicode; ECMA 262 and the suite do not"
EXPECTED = [
    ("ecmascript-regex.json", "[A-Za-z0-9_], not unicode letters, typed: literal unicode character", CLASSES),
    ("ecmascript-regex.json", "[A-Za-z0-9_], not unicode letters, typed: unicode character in hex", CLASSES),
    ("ecmascript-regex.json", "matches [0-9], not unicode digits, typed: non-ascii digits", CLASSES),
]


def typed(schema):
    """The schema with types wherever all its keywords are about one."""
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    for key in ("properties", "$defs", "definitions"):
        if isinstance(out.get(key), dict):
            out[key] = {name: typed(of) for name, of in out[key].items()}
    for key in ("anyOf", "oneOf", "prefixItems"):
        if isinstance(out.get(key), list):
            out[key] = [typed(of) for of in out[key]]
    if "items" in out:
        out["items"] = typed(out["items"])
    if not any(key in out for key in ("type", "enum", "const", "$ref", "anyOf", "oneOf")):
        types = {ABOUT[key] for key in out if key in ABOUT}
        if len(types) == 1:
            out["type"] = types.pop()
    return out


def cases(folder):
    for path in sorted(folder.rglob("*.json")):
        formats = "format" in path.parts or path.stem == "format"
        if formats and path.stem != "date":
            continue
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema, tests = group["schema"], group["tests"]
            name = f"{path.relative_to(folder)}: {group['description']}"
            values = [test["data"] for test in tests]
            whats = [test["description"] for test in tests]
            yield name, schema, values, whats, [test["valid"] for test in tests]
            with_types = typed(schema)
            if with_types != schema and jsonschema:
                checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
                validator = jsonschema.Draft202012Validator(with_types, format_checker=checker)
                try:
                    wanted = [validator.is_valid(value) for value in values]
                except Exception:  # a reference to another place of the web
                    continue
                yield name + ", typed", with_types, values, whats, wanted


def ask(tool, schema, values):
    """What GEN_SCHEMA answers; None where a number has no room in jansson."""
    said = subprocess.run([tool], input=json.dumps([schema, 0, *values]) + "\n", capture_output=True,
                          text=True, check=False)
    if said.returncode not in (0, 2):
        sys.exit(f"{tool} ended with {said.returncode}: {json.dumps(schema)}")
    return json.loads(said.stdout) if said.returncode == 0 else None


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    counts = dict.fromkeys(["schemas", "read", "refused", "agree", "left out", "too large", "expected", "differ"], 0)
    if not jsonschema:
        print("SKIPPED: schemas with types added need Python's jsonschema, which is not installed")
    for name, schema, values, whats, wanted in cases(folder):
        counts["schemas"] += 1
        answer = ask(tool, schema, values)
        if answer is None:
            known = [number for number, value in enumerate(values) if ask(tool, schema, [value]) is not None]
            counts["too large"] += len(values) - len(known)
            values, whats, wanted = ([of[number] for number in known] for of in (values, whats, wanted))
            answer = ask(tool, schema, values)
        if not isinstance(answer, list):
            counts["refused"] += 1
            if isinstance(answer, dict):
                sys.exit(f"{name}: its grammar is refused: {answer}")
            continue
        counts["read"] += 1
        for value, what, valid, form in zip(values, whats, wanted, answer[2], strict=True):
            if form is not False and (form is not None) == valid:
                counts["agree"] += 1
            elif form and isinstance(value, (dict, list)) and json.loads(form) != value:
                counts["left out"] += 1
                print(f"members left out, as cuttle does: {name}: {what}")
            elif any(file in name and words in f"{name}: {what}" for file, words, _ in EXPECTED):
                counts["expected"] += 1
            else:
                counts["differ"] += 1
                print(f"{name}: {what}: {'valid' if valid else 'invalid'} there, {form} here")
    for file, words, why in EXPECTED:
        print(f"expected: {file}: {words}: {why}")
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    sys.exit(counts["differ"] != 0 or not counts["read"])


if __name__ == "__main__":
    main()
