#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints invented visits to a hospital, an object a line, for docs/RECORDS.md. Each has the form of visit.schema.json.
usage: visits.py COUNT"""
import datetime
import json
import random
import sys

# Of each ward: how often, codes, ages (four bands), what is the matter, what is done.
WARDS = {
    "surgery": (3, ["S52.5", "S61.0", "K35.8", "K40.9"], (2, 4, 3, 2), [
        "fell from a ladder and broke the left wrist", "cut the right hand with a kitchen knife",
        "has had pain in the lower right belly since yesterday", "has a swelling in the groin that comes and goes"],
        ["A plaster was put on.", "The wound was closed with four stitches.", "An operation is planned for tomorrow.",
         "Lifting is to be avoided."]),
    "cardiology": (3, ["I10", "I20.9", "I48.0", "R07.4"], (0, 1, 3, 6), [
        "feels the heart race at night", "has a pressure in the chest when climbing stairs",
        "was short of breath after a short walk", "has had swollen ankles for a week"],
        ["An ECG was recorded.", "The dose was raised.", "Blood was drawn for tests.", "The pressure is to be measured at home."]),
    "children": (2, ["J06.9", "H66.9", "A09", "J45.0"], (1, 0, 0, 0), [
        "has had a cough and a fever for three days", "cries and holds the right ear", "has been sick five times since the morning",
        "wheezes after playing outside"],
        ["Rest and fluids were advised.", "Drops were given.", "An inhaler was shown to the parents.", "Return if the fever stays."]),
    "emergency": (4, ["T14.1", "R55", "T78.4", "W54"], (3, 4, 3, 2), [
        "fainted at work", "was bitten by a dog", "has a rash after eating nuts", "slipped on ice and hurt the knee"],
        ["The wound was cleaned.", "Was watched for four hours and sent home.", "A bandage was put on.",
         "Tablets were given for a week."]),
}
AGES = ["0-17", "18-39", "40-64", "65+"]


def main():
    lot = random.Random(1)
    for _ in range(int(sys.argv[1])):
        ward = lot.choices(list(WARDS), [ward[0] for ward in WARDS.values()])[0]
        _, codes, ages, matters, done = WARDS[ward]
        matter = lot.randrange(4)
        date = datetime.date(2025, 1, 1) + datetime.timedelta(lot.randrange(365))
        print(json.dumps({
            "date": str(date), "ward": ward, "age": lot.choices(AGES, ages)[0], "code": codes[matter],
            "days": lot.choices([0, 1, 2, 3, 5], [6, 2, 1, 1, 1])[0] if ward != "emergency" else 0,
            "note": f"{'The child' if ages == (1, 0, 0, 0) else 'Patient'} {matters[matter]}. {lot.choice(done)}"}))


main()
