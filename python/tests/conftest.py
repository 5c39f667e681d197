# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the tiny model, and records that it can read.

Environment: CUTTLE_TINY, the model that build/tests/gen_tiny makes; CUTTLE_SAMPLES, tools/samples.
tests/wheel.sh sets both, and runs these tests against the installed wheel.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

import cuttle_dp

TINY = os.environ.pop("CUTTLE_TINY", "tiny.gguf")
SAMPLES = os.environ.pop("CUTTLE_SAMPLES", "tools/samples")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The tiny model makes the command warn each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cuttle_dp.CuttleWarning)
        yield


@pytest.fixture
def tiny() -> str:
    return TINY


@pytest.fixture
def samples() -> Path:
    return Path(SAMPLES)


@pytest.fixture
def texts() -> List[str]:
    return [f"Record {number} has a cough." for number in range(60)]


@pytest.fixture
def rows(texts: List[str]) -> List[Dict[str, Any]]:
    wards = ["heart", "mind"]
    return [{"text": text, "ward": wards[i % 2], "who": i // 2} for i, text in enumerate(texts)]


@pytest.fixture
def small(tiny: str) -> Dict[str, Any]:
    """Options of a run that takes a moment."""
    return {"model": tiny, "epsilon": 10, "batch_size": 2, "num": 3, "max_tokens": 8, "lots": "off"}
