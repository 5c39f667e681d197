#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""io/schema against Python's jsonschema, on random schemas.

usage: schema.py GEN_SCHEMA CHECKS [SEED]   GEN_SCHEMA is build/tests/gen_schema.
Each text that the grammar writes must parse and be valid. A value must fit exactly where it is valid
once members that the schema lacks are left out; its form must be of the grammar, and valid.
Patterns are of those that ECMA 262 and Python's re read alike, and numbers have at most 15 digits.
"""
import datetime
import ipaddress
import json
import random
import re
import string
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: tests/oracle/schema.py needs Python's jsonschema, which is not installed")
    sys.exit(0)

CHARACTERS = ['a', 'b', 'c', 'x', '1', '9', ' ', '"', '\\', '/', 'é', '€', '😀', '\t', '\x01', '\x7f']
PLAIN = ['a', 'b', 'c', '1', '2', '-', 'é', '"']


RANGES = {"int8": (-128, 127), "int32": (-2**31, 2**31 - 1), "uint8": (0, 255), "uint16": (0, 65535),
          "int64": (1 - 10**18, 10**18 - 1), "uint64": (0, 10**18 - 1)}


def a_time():
    day = random.choice(["%02d:%02d:%02d" % tuple(random.randint(0, most) for most in (24, 60, 60)), "23:59:59"])
    return day + random.choice(["", ".5", ".123456", "."]) + random.choice(["Z", "z", "+01:30", "-23:59", "+24:00", ""])


def a_date_time():
    day = datetime.date.fromordinal(random.randint(1, 3000000)).isoformat()
    return random.choice([day, day, day[:5] + "02-29"]) + random.choice("TTt ") + a_time()


def an_email():
    return ".".join(word("ab+'", 0, 2) for _ in range(2)) + random.choice("@@@a") + \
        ".".join(word("a1-", 1, 3) for _ in range(2))


FORMATS = {"date-time": a_date_time, "time": a_time, "email": an_email,
           "uuid": lambda: "-".join(word("09afAFg" if random.random() < 0.1 else "09afAF", n, n) for n in (8, 4, 4, 4, 12)),
           "ipv4": lambda: ".".join(str(random.choice([0, 9, 10, 99, 255, 256, "01"]))
                                    for _ in range(random.choice([3, 4, 4, 4])))}


def is_time(text):
    """RFC 3339's full-time, without leap seconds."""
    found = re.fullmatch("([0-9]{2}):([0-9]{2}):([0-9]{2})([.][0-9]+)?([Zz]|[+-]([0-9]{2}):([0-9]{2}))", text)
    if not found:
        return False
    numbers = [int(found[i] or 0) for i in (1, 2, 3, 6, 7)]
    return all(number < most for number, most in zip(numbers, (24, 60, 60, 24, 60), strict=True))


def is_date_time(text):
    try:
        return text[10:11] in ("T", "t") and datetime.date.fromisoformat(text[:10]).isoformat() == text[:10] \
            and is_time(text[11:])
    except ValueError:
        return False


def is_email(text):
    """RFC 5321's mailbox: a dot-string at a name of a host."""
    local, _, host = text.partition("@")
    atext = set("!#$%&'*+/=?^_`{|}~-" + string.ascii_letters + string.digits)
    let_dig = set(string.ascii_letters + string.digits)
    return all(part and set(part) <= atext for part in local.split(".")) and all(
        part and set(part) <= let_dig | {"-"} and {part[0], part[-1]} <= let_dig for part in host.split("."))


def is_uuid(text):
    return bool(re.fullmatch("-".join("[0-9A-Fa-f]{%d}" % n for n in (8, 4, 4, 4, 12)), text))


def is_ipv4(text):
    try:
        return str(ipaddress.IPv4Address(text)) == text
    except ValueError:
        return False


def make_checker():
    """jsonschema's, which may lack some formats, and takes some that are none; each must take ours."""
    checker, more = jsonschema.FormatChecker(["date"]), jsonschema.Draft202012Validator.FORMAT_CHECKER
    own = {"time": is_time, "date-time": is_date_time, "email": is_email, "uuid": is_uuid, "ipv4": is_ipv4}
    for name, says in own.items():
        def both(text, says=says, name=name):
            if not isinstance(text, str) or not says(text):
                return not isinstance(text, str)
            if not more.conforms(text, name):
                sys.exit(f"jsonschema does not take the {name} {text!r}")
            return True
        checker.checkers[name] = (both, ())
    return checker


def word(characters, least, most):
    return "".join(random.choice(characters) for _ in range(random.randint(least, most)))


def number():
    kind = random.randrange(4)
    if kind == 0:
        return random.randint(-20, 120)
    if kind == 1:
        return round(random.uniform(-30, 300), random.randint(1, 3))
    if kind == 2:
        return random.choice([0, 1, -1, 9, 10, 99, 100, 101, 0.5, -0.5, 1e3, 1e-3, 123456.789])
    return random.randint(-10**10, 10**10)


def atom():
    return random.choice(["a", "b", "1", "[a-c]", "[0-9]", "[^a]", ".", "\\\\", '"', "é", "[1-9é]", "(a|b1)",
                          "(?:ab|c)", "(1|[a-b]c)"])


def pattern():
    parts = []
    for _ in range(random.randint(1, 4)):
        least = random.randint(0, 3)
        parts.append(atom() + random.choice(
            ["", "", "?", "*", "+", "{%d}" % least, "{%d,}" % least, "{%d,%d}" % (least, least + 2)]))
    text = "".join(parts)
    if random.random() < 0.2:
        text = "(?:%s|%s)" % (text, atom())
    return random.choice(["^", "^", ""]) + text + random.choice(["$", "$", ""])


def a_string():
    schema = {"type": "string"}
    kind = random.randrange(4)
    if kind == 0:
        return dict(schema, format=random.choice(["date", *FORMATS]))
    if kind == 1:
        schema["pattern"] = pattern()
        schema["maxLength"] = random.randint(2, 12)
    elif random.random() < 0.6:
        schema["maxLength"] = random.randint(0, 9)
    if random.random() < 0.3:
        schema["minLength"] = random.randint(0, schema.get("maxLength", 4))
    return schema


def a_number():
    schema = {"type": random.choice(["integer", "number"])}
    first, second = sorted([number(), number()])
    if random.random() < 0.6:
        schema[random.choice(["minimum", "exclusiveMinimum"])] = first
    if random.random() < 0.6:
        schema[random.choice(["maximum", "exclusiveMaximum"])] = second
    if schema["type"] == "integer" and random.random() < 0.1:
        schema["multipleOf"] = 1
    if random.random() < 0.15:
        schema["format"] = random.choice(list(RANGES) if schema["type"] == "integer" else ["double"])
    return schema


def a_value(depth=0):
    kind = random.randrange(8 if depth < 2 else 5)
    if kind < 2:
        return word(CHARACTERS, 0, 4)
    if kind < 4:
        return random.choice([number(), True, False, None])
    if kind == 4:
        return random.choice(["A", "B", "AB", 1, 1.5])
    if kind < 7:
        return {word(PLAIN, 0, 2): a_value(depth + 1) for _ in range(random.randint(0, 2))}
    return [a_value(depth + 1) for _ in range(random.randint(0, 3))]


def an_object(depth, definitions):
    names = list(dict.fromkeys(random.choice(["a", "b", "ab", "é", "p0", "a/b", '"', "", "root", "n-1"])
                               for _ in range(random.randint(0, 5))))
    schema = {"type": "object", "properties": {name: a_schema(depth + 1, definitions) for name in names}}
    if random.random() < 0.7:
        schema["required"] = [name for name in names if random.random() < 0.5]
    if random.random() < 0.4:
        schema["additionalProperties"] = random.random() < 0.3
    return schema


def an_array(depth, definitions):
    schema = {"type": "array"}
    if random.random() < 0.4:
        schema["prefixItems"] = [a_schema(depth + 1, definitions) for _ in range(random.randint(1, 3))]
    schema["items"] = random.random() < 0.7 and a_schema(depth + 1, definitions)
    first = len(schema.get("prefixItems", []))
    least = random.randint(0, 3 if schema["items"] else first)
    if random.random() < 0.5:
        schema["minItems"] = least
    if random.random() < 0.5:
        schema["maxItems"] = least + random.randint(0, 2)
    if first and random.random() < 0.4:  # as draft 7 writes it
        schema["additionalItems"] = schema.pop("items")
        schema["items"] = schema.pop("prefixItems")
    return schema


def some_told_apart(depth, definitions):
    """oneOf of objects that a member tells apart: by its values, or by which there is."""
    count, objects = random.randint(2, 3), []
    by_name = random.random() < 0.3
    for i in range(count):
        one = an_object(depth + 1, definitions)
        name, values = ("T%d" % i if by_name else "T"), random.choice([[i], ["x%d" % i, "y%d" % i]])
        one["properties"] = {name: {"enum": values}, **one["properties"]}
        one["required"] = [*one.get("required", []), name]
        if by_name:
            one["additionalProperties"] = False
        objects.append(one)
    schema = {random.choice(["oneOf", "oneOf", "anyOf"]): objects}
    if not by_name and random.random() < 0.5:
        schema["discriminator"] = {"propertyName": "T", "mapping": {
            str(value): one for one in objects for value in one["properties"]["T"]["enum"]}}
    return schema


def some_joined(depth, definitions):
    """A schema whose keywords stand in several that hold together."""
    whole = random.choice([a_string, a_number, lambda: an_object(depth + 1, definitions)])()
    parts = [{} for _ in range(random.randint(1, 3))]
    for key, value in whole.items():
        if key not in ("properties", "additionalProperties"):
            random.choice(parts)[key] = value
    random.choice(parts).update({key: whole[key] for key in ("properties", "additionalProperties") if key in whole})
    for key in ("minLength", "maximum", "required"):
        if key in whole:
            parts[0][key] = whole[key]
    out = parts.pop() if random.random() < 0.5 else {}
    return dict(out, allOf=parts) if parts else dict(out, allOf=[{"type": whole["type"]}])


def a_schema(depth=0, definitions=None):
    kind = random.randrange(13 if depth < 3 else 5)
    if kind == 10:
        return some_told_apart(depth, definitions)
    if kind == 11:
        return some_joined(depth, definitions)
    if kind == 12:
        return dict(random.choice([a_string, a_number])(), nullable=True)
    if kind == 0:
        return a_string()
    if kind == 1:
        return a_number()
    if kind == 2:
        return {"enum": [a_value() for _ in range(random.randint(1, 8))]}
    if kind == 3:
        return random.choice([{"type": "null"}, {"type": "boolean"}, {"const": a_value()}])
    if kind == 4:
        return {"$ref": "#/$defs/" + random.choice(definitions)} if definitions else a_string()
    if kind < 7:
        return an_object(depth, definitions)
    if kind == 7:
        return an_array(depth, definitions)
    if kind == 8:
        return {"anyOf": [a_schema(depth + 1, definitions) for _ in range(random.randint(1, 3))]}
    mixed = dict(a_number(), **a_string())
    mixed["type"] = random.sample(["string", "null", "boolean", "integer"], random.randint(2, 4))
    if "integer" not in mixed["type"]:
        mixed = {key: value for key, value in mixed.items() if "inimum" not in key and "aximum" not in key}
    if "string" not in mixed["type"]:
        mixed = {key: value for key, value in mixed.items()
                 if key not in ("pattern", "maxLength", "minLength", "format")}
    mixed.pop("multipleOf", None)
    return mixed


def a_root():
    if random.random() < 0.3:
        names = ["x", "y"]
        schema = a_schema(0, names)
        return dict(schema, **{"$defs": {name: a_schema(1, names) for name in names}})
    return a_schema(0)


def guess(schema, root, depth=0):
    """A value that often fits, and often nearly does."""
    if random.random() < 0.06 or depth > 7 or not isinstance(schema, dict):
        return a_value()
    if "$ref" in schema:
        return guess(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, depth + 1)
    if "allOf" in schema:
        whole = {"properties": {}, "additionalProperties": True}
        for part in [*schema["allOf"], schema]:
            whole.update(part)
        whole.pop("allOf")
        return guess(whole, root, depth + 1)
    if "oneOf" in schema:
        return guess(random.choice(schema["oneOf"]), root, depth + 1)
    if "anyOf" in schema:
        return guess(random.choice(schema["anyOf"]), root, depth + 1)
    if "enum" in schema or "const" in schema:
        return random.choice(schema.get("enum", [schema.get("const")]))
    if schema.get("nullable") and random.random() < 0.3:
        return None
    schema = meant(schema, False)
    kind = random.choice(schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
    if kind == "object":
        members = [(name, guess(of, root, depth + 1)) for name, of in schema["properties"].items()
                   if random.random() < (0.95 if name in schema.get("required", []) else 0.5)]
        if random.random() < 0.1:
            members.append(("zz", 1))
        random.shuffle(members)
        return dict(members)
    if kind == "array":
        first = schema.get("prefixItems", [])
        count = random.randint(max(schema.get("minItems", 0) - 1, 0), schema.get("maxItems", 3) + 1)
        return [guess(first[i] if i < len(first) else schema["items"], root, depth + 1) for i in range(count)]
    if kind in ("integer", "number"):
        near = [value for key, value in schema.items() if "imum" in key]
        value = random.choice(near + [number()])
        value += random.choice([0, 0, 1, -1, 0.5, 0.01, -0.001])
        return int(value) if value == int(value) and random.random() < 0.8 else round(value, 4)
    if kind == "string":
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]()
        if "format" in schema:
            day = datetime.date.fromordinal(random.randint(1, 3000000)).isoformat()
            return random.choice([day, day, day[:8] + "29", day[:5] + "02-29", day[:8] + "31", day[1:], day + "0"])
        length = random.randint(max(schema.get("minLength", 0) - 1, 0), schema.get("maxLength", 6) + 1)
        return word(PLAIN if "pattern" in schema else CHARACTERS, length, length)
    return None if kind == "null" else random.random() < 0.5


def damage(value):
    """Nearly the same value. Without ends of lines, which re and ECMA 262 do not see alike."""
    if isinstance(value, str):
        at, kind = random.randint(0, len(value)), random.randrange(3)
        more = word(PLAIN + list(value), 1, 1) if kind else ""
        text = value[:at] + more + value[at + (kind != 1):]
        return "".join("a" if character in "\n\r\u2028\u2029" else character for character in text)
    if isinstance(value, dict) and value:
        key = random.choice(list(value))
        out = {name: damage(of) if name == key else of for name, of in value.items()}
        if random.random() < 0.2:
            out.pop(key)
        return out
    if isinstance(value, list) and value:
        at, kind = random.randrange(len(value)), random.randrange(4)
        return value[:at] + [[damage(value[at])], [], [value[at]] * 2, [damage(value[at])]][kind] + value[at + 1:]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10**10:
        return round(value + random.choice([0.25, 1, -1, 0.001, -0.5]), 4)
    return value


def depth_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + max(map(depth_of, inner), default=0)


INSIDE = ("properties", "$defs"), ("anyOf", "oneOf", "allOf", "prefixItems"), ("items", "additionalItems")


def inner(schema, change):
    """The schema with the schemas in it changed."""
    out = dict(schema)
    for key in INSIDE[0]:
        if key in out:
            out[key] = {name: change(of) for name, of in out[key].items()}
    for key in (*INSIDE[1], *INSIDE[2]):
        if isinstance(out.get(key), list):
            out[key] = [change(of) for of in out[key]]
        elif key in out:
            out[key] = change(out[key])
    return out


def meant(schema, deep=True):
    """What draft 2020-12 calls the words of OpenAPI, schemars and draft 7."""
    if not isinstance(schema, dict):
        return schema
    out = inner(schema, meant) if deep else dict(schema)
    if isinstance(out.get("items"), list):
        out["prefixItems"] = out.pop("items")
        if "additionalItems" in out:
            out["items"] = out.pop("additionalItems")
    if out.pop("nullable", False):
        out["type"] = [out["type"], "null"]
    if out.get("format") in RANGES:
        least, most = RANGES[out["format"]]
        out["minimum"] = max(out.get("minimum", least), least)
        out["maximum"] = min(out.get("maximum", most), most)
        out.pop("format")
    return out


def opened(schema):
    """The schema without additionalProperties: records lose members that it lacks."""
    if not isinstance(schema, dict):
        return schema
    out = inner(schema, opened)
    out.pop("additionalProperties", None)
    return out


CHECKER = make_checker()


class Comparison:
    def __init__(self, tool, seed):
        self.counts = dict.fromkeys(["schemas", "refused", "texts", "deep", "values", "fitting", "wrong"], 0)
        self.tool = subprocess.Popen([tool, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wrong(self, what, schema, value):
        self.counts["wrong"] += 1
        if self.counts["wrong"] < 10:
            print(f"{what}: {value!r} of {json.dumps(schema)}")

    def ask(self, schema, count, values):
        self.tool.stdin.write(json.dumps([schema, count, *values]) + "\n")
        self.tool.stdin.flush()
        return json.loads(self.tool.stdout.readline())

    def check(self, schema):
        values = [guess(schema, schema) for _ in range(25)]
        answer = self.ask(schema, 25, values)
        if not isinstance(answer, list):
            self.counts["refused"] += 1
            return answer
        self.counts["schemas"] += 1
        checker = CHECKER
        plain = meant(schema)
        strict = jsonschema.Draft202012Validator(plain, format_checker=checker)
        lax = jsonschema.Draft202012Validator(opened(plain), format_checker=checker)
        written = []
        for text in answer[1]:
            value = json.loads(text)
            if depth_of(value) > 10:  # jsonschema would try each alternative in each alternative
                self.counts["deep"] += 1
                continue
            written.append(value)
            self.counts["texts"] += 1
            if not strict.is_valid(value):
                self.wrong("written, not valid", schema, text)
        near = [damage(value) for value in written]
        forms = answer[2] + self.ask(schema, 0, near)[2]
        for value, form in zip(values + near, forms, strict=True):
            self.counts["values"] += 1
            if form is False:
                self.wrong("not of the grammar", schema, value)
                continue
            self.counts["fitting"] += form is not None
            if (form is not None) != lax.is_valid(value):
                self.wrong("fits, not valid" if form else "valid, does not fit", schema, value)
            elif form is not None and not strict.is_valid(json.loads(form)):
                self.wrong("its form is not valid", schema, form)
        return ""


def main():
    tool, checks, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    random.seed(seed)
    comparison, reasons = Comparison(tool, seed), {}
    while comparison.counts["texts"] + comparison.counts["values"] < checks:
        reason = str(comparison.check(a_root()))
        reason = reason[reason.find('": ') + 3:] if reason else ""
        reasons[reason] = reasons.get(reason, 0) + 1
    comparison.tool.stdin.close()
    for reason, count in sorted(reasons.items()):
        if reason:
            print(f"refused {count} times: {reason}")
    print(", ".join(f"{count} {name}" for name, count in comparison.counts.items()))
    sys.exit(comparison.tool.wait() != 0 or comparison.counts["wrong"] != 0)


if __name__ == "__main__":
    main()
