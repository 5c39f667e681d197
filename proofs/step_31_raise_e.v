(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 31: the integer that dp_rank_bound returns, by raise_e of dp/rank_table.c, is not above 2^40 e^epsilon.
   The series is summed from its far end as in the code, rounded down each time; that 256 bits hold it is tested. *)
Require Import Reals ZArith Lra Lia List.
From Cuttle Require Import laws step_04_exp_below.
Import ListNotations.
Open Scope R_scope.

Section Raise.
Variables num den : Z.
Hypothesis num_nonneg : (0 <= num)%Z.
Hypothesis den_pos : (0 < den)%Z.
Variable turns : nat.
Let x : R := IZR num / IZR den.

(* sum and bits after the turns n + k - 1 .. n of the loop, which goes down. *)
Fixpoint raised (k n : nat) : Z * Z :=
  match k with
  | O => (2 ^ 228, 228)%Z
  | S k => let '(s, b) := raised k (S n) in shorten (2 ^ 229) turns (s * num / (Z.of_nat n * den) + 2 ^ b) b
  end.
(* 1 + x/n (1 + x/(n+1) (...)) *)
Fixpoint nested (k n : nat) : R := match k with O => 1 | S k => 1 + x / INR n * nested k (S n) end.

Lemma x_nonneg : 0 <= x.
Proof.
  pose proof (IZR_lt 0 den den_pos). apply Rmult_le_pos; [apply (IZR_le 0); auto|apply Rlt_le, Rinv_0_lt_compat; auto].
Qed.

Lemma nested_is_the_series k : forall m,
  / INR (fact m) * x ^ m * nested k (S m) = sum (fun i => / INR (fact i) * x ^ i) (seq m (S k)).
Proof.
  induction k as [|k IH]; intros m; [simpl; ring|].
  change (seq m (S (S k))) with (m :: seq (S m) (S k)). cbn [sum nested]. rewrite <- IH, fact_simpl, mult_INR.
  pose proof (INR_fact_lt_0 m). assert (0 < INR (S m)) by (apply lt_0_INR; lia). simpl pow. field. lra.
Qed.

Lemma power_of_bits b : IZR (2 ^ b) * powerRZ 2 (- b) <= 1.
Proof.
  destruct (Z_lt_le_dec b 0) as [N|P].
  - rewrite Z.pow_neg_r by auto. rewrite Rmult_0_l. lra.
  - right. replace (IZR (2 ^ b)) with (powerRZ 2 b).
    + rewrite <- powerRZ_add by lra. replace (b + - b)%Z with 0%Z by lia. reflexivity.
    + destruct b as [|p|p]; [reflexivity| |lia]. simpl powerRZ. rewrite pow_IZR. f_equal. rewrite positive_nat_Z. reflexivity.
Qed.

Lemma raised_below k : forall n, (1 <= n)%nat ->
  let '(s, b) := raised k n in (0 <= s)%Z /\ value s b <= nested k n.
Proof.
  pose proof x_nonneg as X. pose proof (IZR_lt 0 den den_pos) as D.
  induction k as [|k IH]; intros n Hn.
  - split; [lia|]. unfold value. apply (power_of_bits 228).
  - specialize (IH (S n) ltac:(lia)). cbn [raised nested]. destruct (raised k (S n)) as [s b]. destruct IH as [S0 V].
    assert (M : (0 < Z.of_nat n * den)%Z) by (apply Z.mul_pos_pos; lia).
    assert (N : 0 < INR n) by (apply lt_0_INR; lia).
    assert (P : (0 <= s * num)%Z) by (apply Z.mul_nonneg_nonneg; auto).
    pose proof (shorten_below (2 ^ 229) turns (s * num / (Z.of_nat n * den) + 2 ^ b) b
      ltac:(apply Z.add_nonneg_nonneg; [apply Z.div_pos; auto|apply Z.pow_nonneg; lia])) as K.
    destruct (shorten (2 ^ 229) turns (s * num / (Z.of_nat n * den) + 2 ^ b) b) as [s' b']. destruct K as [K1 K2].
    split; auto. apply Rle_trans with (1 := K2). unfold value in *. rewrite plus_IZR, Rmult_plus_distr_r.
    pose proof (power_of_bits b). pose proof (power_pos (- b)) as W.
    pose proof (IZR_div_le (s * num) _ M) as Q. rewrite !mult_IZR, <- INR_IZR_INZ in Q.
    apply Rmult_le_compat_r with (r := powerRZ 2 (- b)) in Q; [|lra].
    replace (IZR s * IZR num / (INR n * IZR den) * powerRZ 2 (- b)) with (x / INR n * (IZR s * powerRZ 2 (- b))) in Q
      by (unfold x; field; lra).
    assert (x / INR n * (IZR s * powerRZ 2 (- b)) <= x / INR n * nested k (S n)).
    { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; [auto|apply Rlt_le, Rinv_0_lt_compat; auto]. }
    lra.
Qed.

Lemma step_31_raise_e k : let '(s, b) := raised k 1 in (0 <= s)%Z /\ value s b <= exp x.
Proof.
  pose proof (raised_below k 1 ltac:(lia)) as K. destruct (raised k 1) as [s b]. destruct K as [K1 K2]. split; auto.
  apply Rle_trans with (1 := K2). pose proof (nested_is_the_series k 0) as E.
  simpl (fact 0) in E. simpl (INR 1) in E. simpl (x ^ 0) in E. rewrite Rinv_1, !Rmult_1_l in E. rewrite E.
  apply partial_sum_below_exp, x_nonneg.
Qed.

(* dp_rank_bound keeps 40 of the bits: so step 33 has its bound. *)
Theorem step_31_bound_is_below k : let '(s, b) := raised k 1 in (40 <= b)%Z ->
  IZR (s / 2 ^ (b - 40)) <= 2 ^ 40 * exp x.
Proof.
  pose proof (step_31_raise_e k) as K. destruct (raised k 1) as [s b]. destruct K as [K1 K2]. intros Hb.
  assert (Pz : (0 < 2 ^ (b - 40))%Z) by (apply Z.pow_pos_nonneg; lia).
  apply Rle_trans with (1 := IZR_div_le s _ Pz).
  apply Rle_trans with (2 ^ 40 * value s b); [|apply Rmult_le_compat_l; [apply pow_le; lra|auto]].
  right. unfold value. pose proof (IZR_lt 0 _ Pz) as Pr.
  assert (E : IZR (2 ^ (b - 40)) = powerRZ 2 (b - 40)).
  { destruct (b - 40)%Z as [|p|p] eqn:Q; [reflexivity| |lia]. simpl powerRZ. rewrite pow_IZR. f_equal.
    rewrite positive_nat_Z. reflexivity. }
  assert (U : powerRZ 2 (b - 40) * (powerRZ 2 40 * powerRZ 2 (- b)) = 1).
  { rewrite <- !powerRZ_add by lra. replace (b - 40 + (40 + - b))%Z with 0%Z by lia. reflexivity. }
  change (2 ^ 40) with (powerRZ 2 40). pose proof (power_pos (b - 40)). rewrite E.
  transitivity (IZR s / powerRZ 2 (b - 40) * (powerRZ 2 (b - 40) * (powerRZ 2 40 * powerRZ 2 (- b)))).
  - rewrite U. ring.
  - field. lra.
Qed.
End Raise.
