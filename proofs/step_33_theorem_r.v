(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 33, Theorem R: a place of dp_rank_draw and dp_rank_output is epsilon-locally private, between words, and between a word and null.
   The rank is drawn before the word is looked at (step 34), by a table that dp_rank_check has passed (step 31). *)
Require Import Reals List Lra Lia ZArith Permutation.
From Cuttle Require Import laws step_32_order.
Import ListNotations.
Open Scope R_scope.

(* What dp_rank_check has found; bound is floor(2^40 e^epsilon). *)
Record rank_table_checked (V : nat) (E : nat -> Z) (bound : Z) : Prop := {
  table_falls : forall i j, (i <= j < V)%nat -> (E j <= E i)%Z;
  table_least : (1 <= E (V - 1)%nat)%Z;
  table_bound : (E 0%nat * 2 ^ 40 <= bound * E (V - 1)%nat)%Z
}.

Section Rank.
Variable V : nat.
Variable E : nat -> Z.
Variable bound : Z.
Variable eps : R.
Hypothesis some_word : (0 < V)%nat.
Hypothesis checked : rank_table_checked V E bound.
Hypothesis bound_is_below : IZR bound <= 2 ^ 40 * exp eps.

Definition W : R := sum (fun r => IZR (E r)) (seq 0 V).

(* A word with these keys: rank r is drawn with E[r] / W, and what has that rank is written. *)
Definition word_law (key : nat -> Z) (y : nat) : R :=
  sum (fun r => if Nat.eqb (rank_of V key y) r then IZR (E r) / W else 0) (seq 0 V).
(* Null: any word, each as likely. *)
Definition null_law (y : nat) : R := / INR V.
Definition place_law (input : option (nat -> Z)) : nat -> R :=
  match input with Some key => word_law key | None => null_law end.

Lemma entry_between i : (i < V)%nat -> (1 <= E (V - 1) <= E i)%Z /\ (E i <= E 0)%Z.
Proof.
  intros H. pose proof (table_least _ _ _ checked).
  pose proof (table_falls _ _ _ checked i (V - 1) ltac:(lia)).
  pose proof (table_falls _ _ _ checked 0 i ltac:(lia)). lia.
Qed.

Lemma W_pos : 0 < W.
Proof.
  apply sum_pos with (y := 0%nat); [apply in_seq; lia|].
  intros x Hx; apply in_seq in Hx. apply IZR_lt. pose proof (entry_between x). lia.
Qed.

Lemma word_law_is_one_entry key y : (y < V)%nat ->
  (rank_of V key y < V)%nat /\ word_law key y = IZR (E (rank_of V key y)) / W.
Proof.
  intros Hy. pose proof (rank_below_V V key y Hy) as H. split; auto.
  unfold word_law. rewrite (sum_single _ _ (rank_of V key y)).
  - rewrite Nat.eqb_refl; auto.
  - apply seq_NoDup.
  - apply in_seq; lia.
  - intros j _ N. destruct (Nat.eqb_spec (rank_of V key y) j); congruence.
Qed.

Lemma sum_permutation {T} (f : T -> R) l m : Permutation l m -> sum f l = sum f m.
Proof. induction 1; simpl; lra. Qed.

Lemma step_33_places_have_laws input : is_law (seq 0 V) (place_law input).
Proof.
  pose proof W_pos. assert (HV : 0 < INR V) by (apply lt_0_INR; lia).
  destruct input as [key|]; split.
  - intros y Hy. apply in_seq in Hy. simpl.
    destruct (word_law_is_one_entry key y ltac:(lia)) as [L ->].
    apply Rdiv_lt_0_compat; auto. apply IZR_lt. pose proof (entry_between _ L). lia.
  - simpl. rewrite (sum_ext _ (fun y => (fun r => IZR (E r) / W) (rank_of V key y))).
    + rewrite <- (sum_map (fun r => IZR (E r) / W)).
      rewrite (sum_permutation _ _ _ (step_32_order_is_a_permutation V key)).
      rewrite sum_div. fold W. field; lra.
    + intros y Hy. apply in_seq in Hy. apply word_law_is_one_entry; lia.
  - intros y _. apply Rinv_0_lt_compat; auto.
  - simpl. unfold null_law. rewrite sum_const, seq_length. field; lra.
Qed.

Lemma step_31_entries_within_the_bound i j : (i < V)%nat -> (j < V)%nat ->
  IZR (E i) <= exp eps * IZR (E j).
Proof.
  intros Hi Hj. destruct (entry_between i Hi) as [_ Mi]. destruct (entry_between j Hj) as [[One Lj] _].
  pose proof (table_bound _ _ _ checked) as C. apply IZR_le in Mi, Lj, C, One.
  rewrite !mult_IZR in C. change (IZR (2 ^ 40)) with (IZR 1099511627776) in C.
  assert (IZR bound * IZR (E (V - 1)%nat) <= 2 ^ 40 * exp eps * IZR (E (V - 1)%nat))
    by (apply Rmult_le_compat_r; lra).
  assert (exp eps * IZR (E (V - 1)%nat) <= exp eps * IZR (E j))
    by (apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|lra]).
  replace (2 ^ 40) with 1099511627776 in * by ring. lra.
Qed.

(* W, a sum of V entries, lies between V times the least and V times the greatest. *)
Lemma W_between : INR V * IZR (E (V - 1)%nat) <= W <= INR V * IZR (E 0%nat).
Proof.
  unfold W.
  pose proof (sum_const (IZR (E (V - 1)%nat)) (seq 0 V)) as A.
  pose proof (sum_const (IZR (E 0%nat)) (seq 0 V)) as B.
  rewrite seq_length in A, B. rewrite <- A, <- B.
  split; apply sum_le; intros x Hx; apply in_seq in Hx; apply IZR_le; apply entry_between; lia.
Qed.

Lemma step_33_words key key' y : (y < V)%nat -> word_law key y <= exp eps * word_law key' y.
Proof.
  intros Hy. destruct (word_law_is_one_entry key y Hy) as [Hi ->].
  destruct (word_law_is_one_entry key' y Hy) as [Hj ->].
  pose proof W_pos. unfold Rdiv. rewrite <- Rmult_assoc.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
  apply step_31_entries_within_the_bound; auto.
Qed.

Lemma step_33_null key y : (y < V)%nat ->
  word_law key y <= exp eps * null_law y /\ null_law y <= exp eps * word_law key y.
Proof.
  intros Hy. destruct (word_law_is_one_entry key y Hy) as [Hi ->].
  set (i := rank_of V key y) in *.
  pose proof W_pos as HW. pose proof W_between as [Lo Hi'].
  assert (HV : 0 < INR V) by (apply lt_0_INR; lia).
  unfold null_law.
  pose proof (step_31_entries_within_the_bound i (V - 1) Hi ltac:(lia)) as e1.
  pose proof (step_31_entries_within_the_bound 0 i ltac:(lia) Hi) as e2.
  pose proof (exp_pos eps).
  split.
  - apply Rmult_le_reg_r with (W * INR V); [apply Rmult_lt_0_compat; lra|].
    replace (IZR (E i) / W * (W * INR V)) with (IZR (E i) * INR V) by (field; lra).
    replace (exp eps * / INR V * (W * INR V)) with (exp eps * W) by (field; lra).
    apply Rle_trans with (exp eps * (INR V * IZR (E (V - 1)%nat))).
    + replace (exp eps * (INR V * IZR (E (V - 1)%nat))) with (exp eps * IZR (E (V - 1)%nat) * INR V) by ring.
      apply Rmult_le_compat_r; lra.
    + apply Rmult_le_compat_l; lra.
  - apply Rmult_le_reg_r with (W * INR V); [apply Rmult_lt_0_compat; lra|].
    replace (/ INR V * (W * INR V)) with W by (field; lra).
    replace (exp eps * (IZR (E i) / W) * (W * INR V)) with (INR V * (exp eps * IZR (E i))) by (field; lra).
    apply Rle_trans with (1 := Hi'). apply Rmult_le_compat_l; lra.
Qed.

Theorem step_33_theorem_r input input' y : (y < V)%nat -> 0 <= eps ->
  place_law input y <= exp eps * place_law input' y.
Proof.
  intros Hy He. destruct input as [key|], input' as [key'|]; simpl.
  - apply step_33_words; auto.
  - apply step_33_null; auto.
  - apply step_33_null; auto.
  - assert (0 < / INR V) by (apply Rinv_0_lt_compat, lt_0_INR; lia).
    pose proof (exp_le 0 eps He) as X. rewrite exp_0 in X. unfold null_law.
    assert (1 * / INR V <= exp eps * / INR V) by (apply Rmult_le_compat_r; lra). lra.
Qed.
End Rank.
