(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 42: prompts show texts of earlier batches, as those of workflow/rounds.c do. What they show is any function of the tokens so far.
   Public numbers and rows are functions of what is shown, of tokens and of the batch's own records: steps 8 and 39 ask for no more. *)
Require Import Reals List Bool ZArith.
From Cuttle Require Import laws transcripts step_03_sum step_09_conversion step_10_exact theorem_invisibleink step_39_lots.
Import ListNotations.
Open Scope R_scope.

Section Rounds.
Context {Token Reference Shown : Type}.
Variable M : mechanism Token.
(* What the contexts of the next token show, public and private ones alike. *)
Variable shown : list Token -> Shown.
Variable row_behind : Shown -> list Token -> Reference -> option (Token -> Z).
Definition rows (h : list Token) : Reference -> option (Token -> Z) := row_behind (shown h) h.
Hypothesis M_sound : sound M.
Variable batch_of : list Token -> nat.
Variable used : nat -> bool.
Hypothesis only_used : forall h, used (batch_of h) = true.
Variables n T : nat.
Hypothesis cap : capped_each M batch_of n T.

(* A token of another batch has the same law in both worlds, whatever texts of the record's own batch its contexts show. *)
Lemma step_42_other_batches before x after u v b h y : length u = length before -> Nat.eqb (batch_of h) b = false ->
  next M (row_of rows batch_of) (with_lots (u ++ b :: v) (before ++ x :: after)) h y =
  next M (row_of rows batch_of) (with_lots (u ++ b :: v) (before ++ None :: after)) h y.
Proof.
  intros L E. eapply other_steps; eauto. rewrite E. apply andb_false_r.
Qed.

Variables (choices : list (list nat)) (records : list (option Reference)) (j : nat).
Hypothesis j_there : (j < length records)%nat.
Hypothesis as_many : length choices = length records.
Hypothesis some_batch : forall c, In c choices -> c <> [].

(* With lots, by the accountant exact; one choice for each record is a run without lots, and q = 1. *)
Theorem step_42_exact q V eps : 0 < q -> share (nth j choices []) used <= q -> 0 < ratio M -> obeys_recursion (eta_of (ratio M)) V -> 0 <= eps ->
  let delta := q * V T (1 + (exp eps - 1) / q) in
  eps_delta (outputs M n) eps delta (run M rows batch_of choices records) (run M rows batch_of choices (blank records j)) /\
  eps_delta (outputs M n) eps delta (run M rows batch_of choices (blank records j)) (run M rows batch_of choices records).
Proof. intros. apply step_39_exact with (used := used); auto. Qed.

Theorem step_42_zcdp q eps alpha : 0 < q -> share (nth j choices []) used <= q -> 1 < alpha -> 0 <= eps ->
  let delta := delta_at (alpha * rho_of (ratio M) T) eps alpha in
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run M rows batch_of choices records) (run M rows batch_of choices (blank records j)) /\
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run M rows batch_of choices (blank records j)) (run M rows batch_of choices records).
Proof. intros. apply step_39_zcdp with (used := used); auto. Qed.
End Rounds.
