(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 5: the law of dp_invisibleink_draw has bounded range eta = 2 lambda, and the same support in both worlds.
   It holds for sums that are Chat apart, and with g eta for sums that are g Chat apart (step 17). *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws step_04_table.
Open Scope R_scope.

(* ln(P/P') stays in an interval of this length. *)
Definition bounded_range {T} (l : list T) (eta : R) (P Q : T -> R) : Prop :=
  forall y z, In y l -> In z l -> loss P Q y - loss P Q z <= eta.

Section Step.
Context {Token : Type}.
Variable candidates : list Token.
Variable A : Token -> Z.
Variable E : Z -> Z.

(* w(y) = A(y) E(S(y)), W their sum, P = w / W. *)
Definition weight (S : Token -> Z) (y : Token) : Z := (A y * E (S y))%Z.
Definition weights (S : Token -> Z) : R := sum (fun y => IZR (weight S y)) candidates.
Definition law (S : Token -> Z) (y : Token) : R := IZR (weight S y) / weights S.

Variables (N Chat : Z) (lambda : R).
Hypothesis some_candidate : exists y, In y candidates.
Hypothesis A_positive : forall y, In y candidates -> (1 <= A y)%Z.
Hypothesis Chat_fits : (0 <= Chat <= 2 * N)%Z.
Hypothesis checked : table_checked N Chat E lambda.

Definition in_table (S : Token -> Z) : Prop := forall y, (- N <= S y <= N)%Z.
Definition apart (g : nat) (S S' : Token -> Z) : Prop := forall y, (Z.abs (S y - S' y) <= Z.of_nat g * Chat)%Z.

Lemma apart_sym g S S' : apart g S S' -> apart g S' S.
Proof. intros H y. specialize (H y). lia. Qed.

Lemma weight_pos S y : in_table S -> In y candidates -> 0 < IZR (weight S y).
Proof.
  intros H Hy. apply IZR_lt. unfold weight.
  pose proof (A_positive y Hy). pose proof (step_4_entries_are_positive N Chat E lambda checked (S y) (H y)). nia.
Qed.

Lemma weights_pos S : in_table S -> 0 < weights S.
Proof. intros H. destruct some_candidate as [y Hy]. apply sum_pos with y; auto. intros; apply weight_pos; auto. Qed.

Lemma step_5_same_support S : in_table S -> is_law candidates (law S).
Proof.
  intros H. pose proof (weights_pos S H). split.
  - intros y Hy. apply Rdiv_lt_0_compat; auto. apply weight_pos; auto.
  - unfold law. rewrite sum_div. fold (weights S). field; lra.
Qed.

Lemma weight_ratio g S S' y : in_table S -> in_table S' -> apart g S S' -> In y candidates ->
  IZR (weight S y) <= exp (INR g * lambda) * IZR (weight S' y).
Proof.
  intros H H' D Hy. unfold weight. rewrite !mult_IZR.
  replace (exp (INR g * lambda) * (IZR (A y) * IZR (E (S' y))))
    with (IZR (A y) * (exp (INR g * lambda) * IZR (E (S' y)))) by ring.
  apply Rmult_le_compat_l.
  - apply IZR_le. specialize (A_positive y Hy). lia.
  - apply step_17_bounded_ratio with (N := N) (Chat := Chat); auto.
Qed.

Lemma log_ratio g S S' y : in_table S -> in_table S' -> apart g S S' -> In y candidates ->
  ln (IZR (weight S y)) - ln (IZR (weight S' y)) <= INR g * lambda.
Proof.
  intros H H' D Hy. pose proof (weight_pos S y H Hy). pose proof (weight_pos S' y H' Hy).
  assert (K : ln (IZR (weight S y)) <= ln (exp (INR g * lambda) * IZR (weight S' y))).
  { destruct (weight_ratio g S S' y H H' D Hy) as [L|L]; [apply Rlt_le, ln_increasing; auto|rewrite <- L; lra]. }
  rewrite ln_mult, ln_exp in K by (auto; apply exp_pos). lra.
Qed.

Lemma loss_is S S' y : in_table S -> in_table S' -> In y candidates ->
  loss (law S) (law S') y
  = ln (IZR (weight S y)) - ln (IZR (weight S' y)) - (ln (weights S) - ln (weights S')).
Proof.
  intros H H' Hy. pose proof (weight_pos S y H Hy). pose proof (weight_pos S' y H' Hy).
  pose proof (weights_pos S H). pose proof (weights_pos S' H').
  unfold loss, law, Rdiv.
  rewrite !ln_mult, !ln_Rinv, !ln_mult, !ln_Rinv; auto using Rinv_0_lt_compat, Rmult_lt_0_compat; lra.
Qed.

Theorem step_17_bounded_range g S S' : in_table S -> in_table S' -> apart g S S' ->
  bounded_range candidates (INR g * (2 * lambda)) (law S) (law S').
Proof.
  intros H H' D y z Hy Hz. rewrite !loss_is by auto.
  pose proof (log_ratio g S S' y H H' D Hy).
  pose proof (log_ratio g S' S z H' H (apart_sym g S S' D) Hz). lra.
Qed.

Theorem step_5_bounded_range S S' : in_table S -> in_table S' ->
  (forall y, (Z.abs (S y - S' y) <= Chat)%Z) ->
  bounded_range candidates (2 * lambda) (law S) (law S').
Proof.
  intros H H' D. replace (2 * lambda) with (INR 1 * (2 * lambda)) by (simpl; ring).
  apply step_17_bounded_range; auto. intros y. specialize (D y). lia.
Qed.
End Step.
