(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 4: a table E that dp_weights_check has passed moves by at most e^lambda between sums that are Chat apart, also near its ends.
   Over g Chat it moves by at most e^(g lambda), which step 17 needs. *)
Require Import Reals ZArith Lra Lia.
From Cuttle Require Import laws.
Open Scope R_scope.

(* What dp_weights_check has found, for a table over -N .. N. *)
Record table_checked (N Chat : Z) (E : Z -> Z) (lambda : R) : Prop := {
  checked_least : (1 <= E (- N))%Z;
  checked_rises : forall s t, (- N <= s <= t)%Z -> (t <= N)%Z -> (E s <= E t)%Z;
  checked_ratio : forall s, (- N <= s)%Z -> (s + Chat <= N)%Z ->
    IZR (E (s + Chat)%Z) <= exp lambda * IZR (E s)
}.

Section Table.
Variables (N Chat : Z) (E : Z -> Z) (lambda : R).
Hypothesis Chat_fits : (0 <= Chat <= 2 * N)%Z.
Hypothesis checked : table_checked N Chat E lambda.

Lemma step_4_entries_are_positive s : (- N <= s <= N)%Z -> (1 <= E s)%Z.
Proof.
  intros H. pose proof (checked_least _ _ _ _ checked).
  pose proof (checked_rises _ _ _ _ checked (- N)%Z s ltac:(lia) ltac:(lia)). lia.
Qed.

Lemma entry_pos s : (- N <= s <= N)%Z -> 0 < IZR (E s).
Proof. intros H. apply IZR_lt. pose proof (step_4_entries_are_positive s H). lia. Qed.

Lemma rises s t : (- N <= s <= t)%Z -> (t <= N)%Z -> IZR (E s) <= IZR (E t).
Proof. intros. apply IZR_le, (checked_rises _ _ _ _ checked); lia. Qed.

Lemma ratio_at_least_one : 1 <= exp lambda.
Proof.
  pose proof (entry_pos (- N)%Z ltac:(lia)).
  pose proof (rises (- N)%Z (- N + Chat)%Z ltac:(lia) ltac:(lia)).
  pose proof (checked_ratio _ _ _ _ checked (- N)%Z ltac:(lia) ltac:(lia)).
  apply Rmult_le_reg_r with (IZR (E (- N)%Z)); lra.
Qed.

Lemma step_4_bounded_ratio s t : (- N <= s <= N)%Z -> (- N <= t <= N)%Z -> (Z.abs (s - t) <= Chat)%Z ->
  IZR (E s) <= exp lambda * IZR (E t).
Proof.
  intros Hs Ht D. pose proof ratio_at_least_one.
  destruct (Z_le_gt_dec (t + Chat) N) as [In|Out].
  - apply Rle_trans with (IZR (E (t + Chat)%Z)); [apply rises; lia|].
    apply (checked_ratio _ _ _ _ checked); lia.
  - apply Rle_trans with (IZR (E N)); [apply rises; lia|].
    pose proof (checked_ratio _ _ _ _ checked (N - Chat)%Z ltac:(lia) ltac:(lia)) as K.
    replace (N - Chat + Chat)%Z with N in K by lia.
    apply Rle_trans with (1 := K). apply Rmult_le_compat_l; [lra|]. apply rises; lia.
Qed.

Lemma step_17_bounded_ratio g : forall s t, (- N <= s <= N)%Z -> (- N <= t <= N)%Z ->
  (Z.abs (s - t) <= Z.of_nat g * Chat)%Z -> IZR (E s) <= exp (INR g * lambda) * IZR (E t).
Proof.
  pose proof ratio_at_least_one as One.
  induction g as [|g IH]; intros s t Hs Ht D.
  - replace s with t by lia. simpl INR. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR g + 1) * lambda) with (lambda + INR g * lambda) by ring.
    rewrite exp_plus, Rmult_assoc.
    destruct (Z_le_gt_dec (s - Chat) t) as [Near|Far].
    + apply Rle_trans with (IZR (E (Z.max s t))); [apply rises; lia|].
      apply Rle_trans with (exp lambda * IZR (E t)).
      * apply step_4_bounded_ratio; lia.
      * apply Rmult_le_compat_l; [lra|]. apply IH; lia.
    + apply Rle_trans with (exp lambda * IZR (E (s - Chat)%Z)).
      * apply step_4_bounded_ratio; lia.
      * apply Rmult_le_compat_l; [lra|]. apply IH; lia.
Qed.
End Table.
