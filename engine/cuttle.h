// SPDX-License-Identifier: Apache-2.0
// cuttle.h: the public API of libcuttle, for C and for C++: one header a topic, all included here.
// libcuttle writes private text with a proof, on ordinary CPUs.
// examples/ has a program in C and one in C++.
// Private data: references. What a job hands to its callbacks may be published under the plan's
// guarantee, but for the trace: those are private diagnostics, for research.
// How: a *model* is a file in memory. A *plan* fixes all that the guarantee depends on before any
// private text is read: batch size B, tokens T, clip, temperature, prompts. A *job* runs a plan
// over *references*, the sensitive texts. Text b is written from references b*B .. b*B+B-1.
// Example: B = 7: text 2 is written from references 14 to 20.
// Each token is drawn from one public and B private contexts, in exact integers (dp/PRIVACY.md).
// The mechanism is InvisibleInk (NeurIPS 2025, Algorithm 1); a plan may have another *method*.
// A *rewriter* does something else: it rewrites single documents whose private parts are marked, by
// DP-Fusion (ICLR 2026). It stands beside plan and job, with a job of its own.
// A *completer* has no mechanism: it lets the model complete private prompts. What it writes stays
// private.
#ifndef CUTTLE_H
#define CUTTLE_H

// A tour, in the order of a program. Any of these headers may also be included alone: they stand in
// the folder cuttle/ beside this file, in the source tree and where they are installed.
//   cuttle_model_open       opens a model file
//   cuttle_tokenize         counts tokens, if you wish to know them; a job tokenizes by itself
//   cuttle_budget_solve     epsilon from a clip, or a clip from epsilon, without a model
//   cuttle_lots_pay         whether secret lots are worth it, where there are records to spare
//   cuttle_plan_make        fixes the parameters; nothing private is read yet
//   cuttle_plan_describe    says what is guaranteed
//   cuttle_job_run          reads references, draws tokens, hands out texts
//   cuttle_rewriter_run     rewrites documents; cuttle_rewriter_make comes before, as a plan does
//   cuttle_rewrite_budget_solve  what that costs, without a model
//   cuttle_public_run       writes more texts behind those of a job, from the public prompt alone
//   cuttle_completer_run    completes prompts that show private text: PRIVATE, no guarantee
//   cuttle_slots_step       completes plain prompts as they come: NOT PRIVATE
//   cuttle_votes_count      noisy counts of what records vote for, after cuttle_queries_solve
//   cuttle_embed            texts to vectors, to compare texts and sort them
//   cuttle_grammar_read     which texts exist, by a public grammar
//   cuttle_learner_read     what all records say about the model, with noise; cuttle_bias_use
//   cuttle_bench            how long a run will take
//   struct cuttle_trace     what each step looked like inside: PRIVATE
#include "cuttle/status.h"
#include "cuttle/model.h"
#include "cuttle/text.h"
#include "cuttle/words.h"
#include "cuttle/budget.h"
#include "cuttle/method.h"
#include "cuttle/guarantee.h"
#include "cuttle/lots.h"
#include "cuttle/histogram.h"
#include "cuttle/drawn.h"
#include "cuttle/stop.h"
#include "cuttle/grammar.h"
#include "cuttle/votes.h"
#include "cuttle/plan.h"
#include "cuttle/job.h"
#include "cuttle/public.h"
#include "cuttle/rewrite_budget.h"
#include "cuttle/rewrite.h"
#include "cuttle/complete.h"
#include "cuttle/slots.h"
#include "cuttle/embed.h"
#include "cuttle/learn.h"
#include "cuttle/components.h"
#include "cuttle/audit.h"
#include "cuttle/bench.h"
#include "cuttle/trace.h"

// Threads. Any number of threads may use one model at the same time. Their calls take turns at the
// model's worker threads, in the order they come. They give the same bits as one after the other.
// Only one thread may use a plan at a time. Each job of a plan must end before the next begins.
// Callbacks run in the thread that made the call. Free a model when no call uses it any more.
// The only global state is the choice of kernels: set it, if at all, before any model is opened.
//
// Versions. A struct that begins with struct_size grows at its end in later versions. Its default
// function sets struct_size. A program built with an older header gives a smaller struct. It is
// accepted: the members it lacks take their defaults. A larger one comes from a header newer than
// the library, and is refused (USAGE).

#endif
