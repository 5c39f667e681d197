# SPDX-License-Identifier: Apache-2.0
"""New texts that read like your private ones, under differential privacy, on ordinary CPUs.

    import cuttle_dp as cuttle
    run = cuttle.generate(df["note"], model="model.gguf", epsilon=3, kind="discharge note", num=100)
    run.texts      # in the form that came in
    run.receipt    # what is promised, and what is not

Each verb of the command ``cuttle`` is a function, and its options are keywords. Private texts go to
the command through memory, never through a file on a disk.
"""

from . import audit, budget, ledger, model, receipt, shard
from ._errors import (
    BudgetRefused,
    CommandMissing,
    CuttleError,
    CuttleWarning,
    EvidenceInvalid,
    InputInvalid,
    InternalError,
    ModelInvalid,
    OutOfMemory,
    Partial,
    RemoteRefused,
    UnknownOption,
    UsageError,
)
from ._run import Answer, Receipt, Run
from ._verbs import VERSION as __version__
from ._verbs import (
    bench,
    clusters,
    clusters_show,
    detokenize,
    evaluate,
    evolve,
    expand,
    extract,
    generate,
    infer,
    inspect,
    learn,
    merge,
    perturb,
    report,
    sanitize,
    score,
    serve,
    serve_health,
    serve_key,
    serve_trail,
    tag,
    tokenize,
    words,
)

__all__ = [
    "Answer",
    "BudgetRefused",
    "CommandMissing",
    "CuttleError",
    "CuttleWarning",
    "EvidenceInvalid",
    "InputInvalid",
    "InternalError",
    "ModelInvalid",
    "OutOfMemory",
    "Partial",
    "Receipt",
    "RemoteRefused",
    "Run",
    "UnknownOption",
    "UsageError",
    "__version__",
    "audit",
    "bench",
    "budget",
    "clusters",
    "clusters_show",
    "detokenize",
    "evaluate",
    "evolve",
    "expand",
    "extract",
    "generate",
    "infer",
    "inspect",
    "learn",
    "ledger",
    "merge",
    "model",
    "perturb",
    "receipt",
    "report",
    "sanitize",
    "score",
    "serve",
    "serve_health",
    "serve_key",
    "serve_trail",
    "shard",
    "tag",
    "tokenize",
    "words",
]
