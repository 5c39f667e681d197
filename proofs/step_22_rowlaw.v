(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 22: the integers of dp_rowlaw_make are at least 1 and sum to 2^46 exactly, so every row has a law on the same candidates.
   The roundings of doubles are what is assumed: each by a part of 2^-53, four of them, against the slack of 2^-50. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

(* (1 - 2^-50)(1 + 2^-53)^4 <= 1. *)
Lemma slack_suffices u : 0 <= u <= 1 -> (1 - 8 * u) * (1 + u) ^ 4 <= 1.
Proof.
  intros H. replace ((1 - 8 * u) * (1 + u) ^ 4) with (1 - u * (4 + 26 * u + 44 * u ^ 2 + 31 * u ^ 3 + 8 * u ^ 4)) by ring.
  assert (0 <= 4 + 26 * u + 44 * u ^ 2 + 31 * u ^ 3 + 8 * u ^ 4).
  { pose proof (pow_le u 2 (proj1 H)). pose proof (pow_le u 3 (proj1 H)). pose proof (pow_le u 4 (proj1 H)). lra. }
  assert (0 <= u * (4 + 26 * u + 44 * u ^ 2 + 31 * u ^ 3 + 8 * u ^ 4)) by (apply Rmult_le_pos; lra). lra.
Qed.

Section Row.
Context {Token : Type}.
Variable candidates : list Token.
(* e of the table, t = truncate(e s) in doubles, and the candidate that gets what is left. *)
Variables e t : Token -> Z.
Variable whole : Z.
Variable u : R.
Hypothesis u_small : 0 <= u <= 1.
Hypothesis e_nonneg : forall y, In y candidates -> (0 <= e y)%Z.
Hypothesis t_nonneg : forall y, In y candidates -> (0 <= t y)%Z.
Let S : R := sum (fun y => IZR (e y)) candidates.
Hypothesis S_pos : 0 < S.
Let n : R := INR (length candidates).
Hypothesis n_fits : n <= IZR whole.
(* s is (whole - n) / S (1 - 8u) after three roundings, e s after a fourth. *)
Hypothesis t_is_truncated : forall y, In y candidates ->
  IZR (t y) <= IZR (e y) * ((IZR whole - n) / S * ((1 - 8 * u) * (1 + u) ^ 4)).

Definition scaled (y : Token) : Z := (1 + t y)%Z.

Theorem step_22_sum_fits : sum (fun y => IZR (scaled y)) candidates <= IZR whole.
Proof.
  apply Rle_trans with (n + sum (fun y => IZR (e y) * ((IZR whole - n) / S * ((1 - 8 * u) * (1 + u) ^ 4))) candidates).
  - unfold scaled, n. rewrite <- (Rmult_1_r (INR (length candidates))), <- sum_const, <- sum_plus. apply sum_le.
    intros y Hy. rewrite plus_IZR. specialize (t_is_truncated y Hy). rewrite sum_const, Rmult_1_r. fold n. lra.
  - rewrite sum_scal_r. fold S.
    replace (S * ((IZR whole - n) / S * ((1 - 8 * u) * (1 + u) ^ 4))) with ((IZR whole - n) * ((1 - 8 * u) * (1 + u) ^ 4))
      by (field; lra).
    pose proof (Rmult_le_compat_l (IZR whole - n) _ 1 ltac:(lra) (slack_suffices u u_small)). lra.
Qed.

(* What is left goes to one candidate: then all are at least 1 and the sum is exact. *)
Variable eq_dec : forall x y : Token, {x = y} + {x <> y}.
Variable peak : Token.
Hypothesis once : NoDup candidates.
Hypothesis peak_in : In peak candidates.
Let rest : Z := (whole - fold_right (fun y s => (scaled y + s)%Z) 0%Z candidates)%Z.
Definition row_law (y : Token) : Z := if eq_dec y peak then (scaled y + rest)%Z else scaled y.

Lemma rest_nonneg : (0 <= rest)%Z.
Proof.
  pose proof step_22_sum_fits as F.
  assert (E : forall l, sum (fun y => IZR (scaled y)) l = IZR (fold_right (fun y s => (scaled y + s)%Z) 0%Z l)).
  { induction l as [|y l IH]; simpl; [auto|]. rewrite IH, plus_IZR. auto. }
  rewrite E in F. apply le_IZR in F. unfold rest. lia.
Qed.

Theorem step_22_entries_are_positive y : In y candidates -> (1 <= row_law y)%Z.
Proof.
  intros Hy. specialize (t_nonneg y Hy). pose proof rest_nonneg. unfold row_law, scaled. destruct (eq_dec y peak); lia.
Qed.

Theorem step_22_sum_is_exact : sum (fun y => IZR (row_law y)) candidates = IZR whole.
Proof.
  assert (E : forall l, sum (fun y => IZR (scaled y)) l = IZR (fold_right (fun y s => (scaled y + s)%Z) 0%Z l)).
  { induction l as [|y l IH]; simpl; [auto|]. rewrite IH, plus_IZR. auto. }
  rewrite (sum_ext _ (fun y => IZR (scaled y) + (if eq_dec y peak then IZR rest else 0))).
  - rewrite sum_plus, (sum_single (fun y => if eq_dec y peak then IZR rest else 0) candidates peak); auto.
    + destruct (eq_dec peak peak); [|congruence]. rewrite E, <- plus_IZR. unfold rest. f_equal. lia.
    + intros y _ N. destruct (eq_dec y peak); [congruence|auto].
  - intros y _. unfold row_law. destruct (eq_dec y peak); [rewrite plus_IZR; auto|ring].
Qed.
End Row.
