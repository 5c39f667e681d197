#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a folder of cuttle report --evidence for tests/cli/evidence.sh.

usage: evidence.py FOLDER ROOT    ROOT is the repository. It fails if deployment.yaml is not of the registry's schema, a line that
questions.md names lacks the words, or a row of a table names no source that is there. It prints deployment.yaml as JSON.

The registry's schema: github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml at commit
057e5d81cf60150dd3307e0cf4504b957802fb3b. No licence stands beside it, so it is not copied: SCHEMA below has the
names of its fields, which of them must be there, their types and their values. Others are refused, as there."""
import json
import re
import sys
from pathlib import Path

TEXT, NUMBER, WHOLE, DATE = 'text', 'number', 'whole', 'date'
BIBTEX = ('address annote author booktitle chapter doi edition editor email howpublished institution issn isbn journal month '
          'note number organization pages publisher school type series title url volume year').split()
EVIDENCE = {'evidence_source_type': ['Peer-reviewed publication', 'Formal publication by the deploying organization',
                                     'Authorized organizational attestation', 'Other public source'],
            'misc': dict.fromkeys(BIBTEX, TEXT)}
# A field that must be there ends in !. A list in [] has items of that form; other lists are values.
SCHEMA = {
    'url_slug!': TEXT,
    'deployment!': {
        'basic!': {
            'name!': TEXT,
            'data_curators!': [[{'data_curator_name!': TEXT, 'data_curator_type!': ['Government', 'Industry', 'Nonprofit']}]],
            'description!': TEXT, 'intended_use!': TEXT,
            'data_product_type!': ['Summary statistics', 'Machine learning model', 'Dataset', 'Synthetic data', 'Interactive API',
                                   'SQL queries'],
            'data_product_region!': TEXT,
            'data_product_sector': ['Technology', 'Healthcare', 'Education', 'Government', 'Energy', 'Finance'],
            'publication_date!': DATE},
        'dp_variant': {'variant_name': ['Pure DP', 'Approximate DP', 'Zero-concentrated DP', 'Renyi DP', 'Custom'],
                       'data_domain': TEXT, 'unprotected_quantities': TEXT},
        'privacy_loss': {'privacy_unit': TEXT, 'privacy_unit_details': TEXT, 'number_of_privacy_units': WHOLE,
                         'privacy_parameters': {'epsilon': NUMBER, 'delta': NUMBER, 'rho': NUMBER},
                         'privacy_parameters_details': TEXT},
        'deployment_model': {'model_name': ['Local', 'Central', 'Shuffle', 'Federated', 'Varies'], 'model_name_details': TEXT,
                             'trust_assumptions': TEXT, 'actors': TEXT, 'release_type': ['One release', 'Many releases'],
                             'release_type_details': TEXT, 'data_source_type': ['Static', 'Dynamic'],
                             'data_source_type_details': TEXT, 'access_type': ['Interactive', 'Non-interactive'],
                             'access_type_details': TEXT},
        'implementation': dict.fromkeys(('preprocessing_and_hyperparameter_tuning mechanisms composition post_processing '
                                         'justification utility additional_information').split(), TEXT),
        'administrative!': {
            'evidence_sources': EVIDENCE,
            'status!': ['Converted', 'Draft', 'Pending', 'Changes Required', 'Approved', 'Approved (Update Requested)',
                        'Approved (Pending)'],
            'registry_authors!': [[TEXT]], 'tier!': [1, 2, 3]}}}


def fail(why):
    print(why)
    sys.exit(1)


def scalar(text):
    """A value: in quotes, a number, or {}. What stands behind it must be a remark."""
    if text.startswith('"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"', text)
        end or fail(f'no end of a string: {text}')
        body = re.sub(r'\\U([0-9A-F]{8})', lambda m: chr(int(m[1], 16)), end[0][1:-1])
        value, rest = re.sub(r'\\(["\\])', r'\1', body), text[end.end():]
    else:
        word, _, rest = text.partition(' ')
        value = {} if word == '{}' else json.loads(word)
    if rest.strip() and not rest.startswith(' # ') and not rest.startswith('# '):
        fail(f'behind a value: {rest}')
    return value


def read_block(lines, level):
    """The object or list whose lines begin with so many spaces. Takes them from the list."""
    value = None
    while lines and len(lines[0]) - len(lines[0].lstrip()) == level:
        line = lines.pop(0).strip()
        if line == '-' or line.startswith('- '):
            value = value or []
            value.append(scalar(line[2:]) if line != '-' else read_block(lines, level + 2))
            continue
        value = value or {}
        key, colon, rest = line.partition(':')
        (colon and re.fullmatch(r'\w+', key) and key not in value) or fail(f'no field: {line}')
        value[key] = scalar(rest.strip()) if rest.strip() else read_block(lines, len(lines[0]) - len(lines[0].lstrip()))
    return value


def read_yaml(path):
    text = path.read_text()
    lines = [line for line in text.split('\n') if line.strip() and not line.strip().startswith('#')]
    value = read_block(lines, 0)
    lines and fail(f'left over: {lines[0]}')
    try:
        import yaml
    except ImportError:
        return value
    value == yaml.safe_load(text) or fail('another reader of YAML reads something else')
    return value


def check(value, form, path):
    if isinstance(form, dict):
        isinstance(value, dict) or fail(f'{path}: no object')
        names = {name.rstrip('!'): name for name in form}
        for name in value:
            name in names or fail(f'{path}/{name}: the schema has no such field')
            check(value[name], form[names[name]], f'{path}/{name}')
        for name in form:
            name[-1] != '!' or name[:-1] in value or fail(f'{path}/{name[:-1]}: it is missing')
    elif isinstance(form, list) and isinstance(form[0], (list, dict)):
        (isinstance(value, list) and value) or fail(f'{path}: no list')
        for item in value:
            check(item, form[0][0], path)
    elif isinstance(form, list):
        value in form or fail(f'{path}: {value} is none of {form}')
    elif form == NUMBER:
        (isinstance(value, float) and value >= 0) or fail(f'{path}: {value!r} is no number with a point')
    elif form == WHOLE:
        isinstance(value, int) or fail(f'{path}: {value!r} is no whole number')
    else:
        (isinstance(value, str) and value) or fail(f'{path}: no text')
        form != DATE or re.fullmatch(r'\d{4}-\d\d-\d\d', value) or fail(f'{path}: {value} is no date')


def check_deployment(folder):
    entry = read_yaml(folder / 'deployment.yaml')
    sources = entry['deployment']['administrative'].pop('evidence_sources')
    check(entry, SCHEMA, '')
    for name, source in sources.items():
        re.fullmatch(r'\w+', name) or fail(f'a source called {name}')
        check(source, EVIDENCE, name)
        (folder / source['misc']['title']).is_file() or fail(f'no file {source["misc"]["title"]}')
    print(json.dumps(entry))


def check_lines(folder):
    found = 0
    for text in re.split(r'\n## ', (folder / 'questions.md').read_text())[1:]:
        head = text.split('\n', 1)[0]
        lines = re.findall(r'^- `([^`]*):(\d+)`: `([^`]*)`$', text, re.MULTILINE)
        lines or 'to be answered by you' in text or fail(f'{head}: it has no source')
        for name, number, words in lines:
            line = (folder / name).read_text().split('\n')[int(number) - 1]
            words in line or fail(f'{head}: {name}:{number} does not say {words}: {line}')
        found += len(lines)
    heads = re.findall(r'^## (\d+)\. ', (folder / 'questions.md').read_text(), re.MULTILINE)
    heads == [str(i) for i in range(1, 11)] or fail(f'questions: {heads}')
    found >= 20 or fail(f'{found} lines are named')


def check_sources(folder, root):
    for page in ('sp800-226.md', 'dpia.md', 'hipaa.md'):
        heading = None
        for line in (folder / page).read_text().split('\n'):
            cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
            if not cells:
                heading = None
                continue
            heading = heading or cells
            if cells == heading or re.fullmatch(r'[-:]+', cells[0]) or heading[-1] not in ('source', 'shown by'):
                continue
            len(cells) == len(heading) or fail(f'{page}: a row of {len(cells)} cells: {line}')
            if heading[-1] == 'shown by':
                cells[2] in ('met', 'not met', 'yours') or fail(f'{page}: {line}')
            source = cells[-1]
            if source == 'to be answered by you':
                continue
            names = re.findall(r'[\w./-]+\.(?:md|txt|html|jsonl|json|sh|yaml)\b|receipts/', source)
            names or fail(f'{page}: no source: {line}')
            for name in names:
                (folder / name).exists() or (root / name).exists() or fail(f'{page}: there is no {name}: {line}')


if __name__ == '__main__':
    check_deployment(Path(sys.argv[1]))
    check_lines(Path(sys.argv[1]))
    check_sources(Path(sys.argv[1]), Path(sys.argv[2]))
