(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 4: the integers of exp_below (dp/weights.c) are below e^v, so a table that passes dp_weights_check has the ratio e^lambda.
   The loops are those of the code; that 128 bits hold what they compute is tested. *)
Require Import Reals ZArith Lra Lia List.
From Cuttle Require Import laws step_04_table.
Import ListNotations.
Open Scope R_scope.

Lemma IZR_div_le a b : (0 < b)%Z -> IZR (a / b) <= IZR a / IZR b.
Proof.
  intros H. pose proof (IZR_lt 0 b H). apply Rmult_le_reg_r with (IZR b); auto.
  replace (IZR a / IZR b * IZR b) with (IZR a) by (field; lra). rewrite <- mult_IZR. apply IZR_le.
  rewrite Z.mul_comm. apply Z.mul_div_le; auto.
Qed.

Lemma partial_sum_below_exp x n : 0 <= x -> sum (fun i => / INR (fact i) * x ^ i) (seq 0 n) <= exp x.
Proof.
  intros Hx. destruct n as [|n]; [simpl; apply Rlt_le, exp_pos|].
  assert (E : sum (fun i => / INR (fact i) * x ^ i) (seq 0 (S n)) = sum_f_R0 (fun i => / INR (fact i) * x ^ i) n).
  { induction n as [|n IH]; [simpl; ring|]. rewrite seq_S, sum_app, IH, tech5. cbn [sum]. rewrite Nat.add_0_l. ring. }
  rewrite E. apply sum_incr.
  - unfold exp. destruct (exist_exp x) as (e & He). exact He.
  - intros i. apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat, INR_fact_lt_0|apply pow_le; auto].
Qed.

(* v = fraction / 2^56, halved h times: x = fraction / 2^(56 + h). *)
Section Series.
Variables (fraction : Z) (h : nat).
Hypothesis fraction_nonneg : (0 <= fraction)%Z.
Let unit : Z := (2 ^ (56 + Z.of_nat h))%Z.
Let x : R := IZR fraction / IZR unit.

(* term and sum after n turns; the loop ends at the first term 0, which adds nothing. *)
Fixpoint term (n : nat) : Z :=
  match n with
  | O => (2 ^ 60)%Z
  | S m => (term m * fraction / unit / Z.of_nat (S m))%Z
  end.
Fixpoint series (n : nat) : Z := match n with O => 0%Z | S m => (series m + term m)%Z end.

Lemma unit_pos : (0 < unit)%Z.
Proof. unfold unit. apply Z.pow_pos_nonneg; lia. Qed.

Lemma x_nonneg : 0 <= x.
Proof.
  pose proof (IZR_lt 0 unit unit_pos). apply Rmult_le_pos; [apply (IZR_le 0); auto|]. apply Rlt_le, Rinv_0_lt_compat; auto.
Qed.

Lemma term_below n : 0 <= IZR (term n) <= IZR (2 ^ 60) * (/ INR (fact n) * x ^ n).
Proof.
  pose proof unit_pos as U. pose proof (IZR_lt 0 unit U) as Ur. pose proof x_nonneg as X.
  induction n as [|n [L IH]].
  - simpl (fact 0). simpl (INR 1). rewrite Rinv_1. change (term 0) with (2 ^ 60)%Z.
    assert (0 <= IZR (2 ^ 60)) by (apply (IZR_le 0); lia). simpl pow. lra.
  - assert (Z0 : (0 <= term n)%Z) by (apply le_IZR; auto).
    assert (P : (0 <= term n * fraction)%Z) by (apply Z.mul_nonneg_nonneg; auto).
    change (term (S n)) with (term n * fraction / unit / Z.of_nat (S n))%Z. split.
    + apply (IZR_le 0). apply Z.div_pos; [apply Z.div_pos; auto|lia].
    + assert (N : 0 < INR (S n)) by (apply lt_0_INR; lia).
      apply Rle_trans with (IZR (term n * fraction / unit) / INR (S n)).
      { rewrite INR_IZR_INZ. apply IZR_div_le. lia. }
      apply Rle_trans with (IZR (term n) * x / INR (S n)).
      { apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|].
        eapply Rle_trans; [apply IZR_div_le; auto|]. rewrite mult_IZR. unfold x. right. field. lra. }
      rewrite fact_simpl, mult_INR. pose proof (INR_fact_lt_0 n).
      replace (IZR (2 ^ 60) * (/ (INR (S n) * INR (fact n)) * x ^ S n))
        with (IZR (2 ^ 60) * (/ INR (fact n) * x ^ n) * x / INR (S n)) by (simpl pow; field; lra).
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|]. apply Rmult_le_compat_r; auto.
Qed.

Lemma step_4_series_below n : 0 <= IZR (series n) <= IZR (2 ^ 60) * exp x.
Proof.
  split.
  - induction n as [|n IH]; [simpl; lra|]. simpl series. rewrite plus_IZR. pose proof (term_below n). lra.
  - apply Rle_trans with (IZR (2 ^ 60) * sum (fun i => / INR (fact i) * x ^ i) (seq 0 n)).
    + induction n as [|n IH]; [simpl; lra|]. rewrite seq_S, sum_app. simpl series. rewrite plus_IZR. simpl sum.
      pose proof (term_below n). lra.
    + apply Rmult_le_compat_l; [apply (IZR_le 0); lia|]. apply partial_sum_below_exp, x_nonneg.
Qed.
End Series.

(* sum / 2^bits, whichever bits are left. *)
Definition value (sum bits : Z) : R := IZR sum * powerRZ 2 (- bits).

(* for (; sum >> 62; --bits) sum >>= 1, with limit for 2^62 *)
Fixpoint shorten (limit : Z) (turns : nat) (sum bits : Z) : Z * Z :=
  match turns with
  | O => (sum, bits)
  | S turns => if Z.ltb sum limit then (sum, bits) else shorten limit turns (sum / 2) (bits - 1)
  end.
(* for (; halvings > 0; halvings--) { sum *= sum; bits *= 2; ... } *)
Fixpoint squares (halvings turns : nat) (sum bits : Z) : Z * Z :=
  match halvings with
  | O => (sum, bits)
  | S halvings => let '(s, b) := shorten (2 ^ 62) turns (sum * sum) (2 * bits) in squares halvings turns s b
  end.
Definition exp_below (fraction : Z) (halvings terms turns : nat) : Z * Z :=
  squares halvings turns (series fraction halvings terms) 60.

Lemma power_pos z : 0 < powerRZ 2 z.
Proof. apply powerRZ_lt. lra. Qed.

Lemma shorten_below limit turns : forall sum bits, (0 <= sum)%Z ->
  let '(s, b) := shorten limit turns sum bits in (0 <= s)%Z /\ value s b <= value sum bits.
Proof.
  induction turns as [|turns IH]; intros sum bits H; cbn [shorten]; [split; [auto|lra]|].
  destruct (Z.ltb sum limit); [split; [auto|lra]|].
  specialize (IH (sum / 2)%Z (bits - 1)%Z ltac:(apply Z.div_pos; lia)).
  destruct (shorten limit turns (sum / 2) (bits - 1)) as [s b]. destruct IH as [S V]. split; auto.
  apply Rle_trans with (1 := V). unfold value. pose proof (IZR_div_le sum 2 ltac:(lia)) as D.
  replace (- (bits - 1))%Z with (1 + - bits)%Z by lia. rewrite powerRZ_add by lra. simpl (powerRZ 2 1).
  pose proof (power_pos (- bits)).
  apply Rle_trans with (IZR sum / 2 * (2 * 1 * powerRZ 2 (- bits))); [apply Rmult_le_compat_r; lra|]. right. field.
Qed.

Lemma squares_below halvings turns : forall sum bits v, (0 <= sum)%Z -> value sum bits <= exp v ->
  let '(s, b) := squares halvings turns sum bits in (0 <= s)%Z /\ value s b <= exp (v * 2 ^ halvings).
Proof.
  induction halvings as [|halvings IH]; intros sum bits v H V; cbn [squares pow]; [rewrite Rmult_1_r; auto|].
  pose proof (shorten_below (2 ^ 62) turns (sum * sum) (2 * bits) ltac:(apply Z.mul_nonneg_nonneg; auto)) as S.
  destruct (shorten (2 ^ 62) turns (sum * sum) (2 * bits)) as [s b]. destruct S as [S1 S2].
  specialize (IH s b (2 * v) S1). destruct (squares halvings turns s b) as [s' b'].
  replace (v * (2 * 2 ^ halvings)) with (2 * v * 2 ^ halvings) by ring. apply IH.
  apply Rle_trans with (1 := S2).
  assert (0 <= value sum bits).
  { apply Rmult_le_pos; [apply (IZR_le 0); auto|apply Rlt_le, power_pos]. }
  apply Rle_trans with (value sum bits * value sum bits).
  - unfold value. rewrite mult_IZR. replace (- (2 * bits))%Z with (- bits + - bits)%Z by lia.
    rewrite powerRZ_add by lra. right. ring.
  - replace (exp (2 * v)) with (exp v * exp v) by (rewrite <- exp_plus; f_equal; ring). apply Rmult_le_compat; auto.
Qed.

(* "Returns r with r / 2^bits <= e^v, v = fraction / 2^56." *)
Theorem step_4_exp_below fraction halvings terms turns : (0 <= fraction)%Z ->
  let '(r, bits) := exp_below fraction halvings terms turns in
  (0 <= r)%Z /\ value r bits <= exp (IZR fraction / IZR (2 ^ 56)).
Proof.
  intros H. unfold exp_below. destruct (step_4_series_below fraction halvings H terms) as [L U].
  set (x := IZR fraction / IZR (2 ^ (56 + Z.of_nat halvings))) in *.
  assert (V : value (series fraction halvings terms) 60 <= exp x).
  { unfold value. apply Rle_trans with (IZR (2 ^ 60) * exp x * powerRZ 2 (- (60))).
    - apply Rmult_le_compat_r; [apply Rlt_le, power_pos|auto].
    - right. change (2 ^ 60)%Z with 1152921504606846976%Z.
      assert (K : 1152921504606846976 * powerRZ 2 (- (60)) = 1).
      { replace 1152921504606846976 with (powerRZ 2 60) by (simpl; lra).
        rewrite <- powerRZ_add by lra. reflexivity. }
      rewrite (Rmult_comm _ (exp x)), Rmult_assoc, K. ring. }
  pose proof (squares_below halvings turns (series fraction halvings terms) 60 x (le_IZR 0 _ L) V) as S.
  destruct (squares halvings turns (series fraction halvings terms) 60) as [r bits].
  destruct S as [S1 S2]. split; auto. apply Rle_trans with (1 := S2). right. f_equal. unfold x.
  rewrite Z.pow_add_r, mult_IZR by lia. rewrite <- (pow_IZR 2 halvings).
  pose proof (pow_lt 2 halvings ltac:(lra)). pose proof (IZR_lt 0 (2 ^ 56) ltac:(lia)). field. lra.
Qed.

(* dp_weights_check: with r / 2^bits from exp_below, what it compares in integers gives what step 4 asks of the table. *)
Theorem step_4_the_check N Chat E bound r bits :
  (0 <= bits)%Z -> (0 <= Chat <= 2 * N)%Z ->
  value r bits <= exp (IZR bound / IZR (2 ^ 56)) ->
  (1 <= E (- N))%Z -> (forall s, (- N <= s < N)%Z -> (E s <= E (s + 1))%Z) ->
  (forall s, (- N <= s)%Z -> (s <= N - Chat)%Z -> (2 ^ bits * E (s + Chat) <= r * E s)%Z) ->
  table_checked N Chat E (IZR bound / IZR (2 ^ 56)).
Proof.
  intros Hb HC Hr E1 Up Ratio.
  assert (rises : forall k s, (- N <= s)%Z -> (s + Z.of_nat k <= N)%Z -> (E s <= E (s + Z.of_nat k))%Z).
  { induction k as [|k IH]; intros s Hs Hk; [replace (s + Z.of_nat 0)%Z with s by lia; lia|].
    pose proof (IH s Hs ltac:(lia)). pose proof (Up (s + Z.of_nat k)%Z ltac:(lia)).
    replace (s + Z.of_nat (S k))%Z with (s + Z.of_nat k + 1)%Z by lia. lia. }
  split; auto.
  - intros s t Hs Ht. pose proof (rises (Z.to_nat (t - s)) s ltac:(lia) ltac:(lia)) as K.
    replace (s + Z.of_nat (Z.to_nat (t - s)))%Z with t in K by lia. auto.
  - intros s Hs Hc. pose proof (IZR_le _ _ (Ratio s Hs ltac:(lia))) as K. rewrite !mult_IZR in K.
    pose proof (rises (Z.to_nat (s + N)) (- N)%Z ltac:(lia) ltac:(lia)) as Es.
    replace (- N + Z.of_nat (Z.to_nat (s + N)))%Z with s in Es by lia.
    assert (0 < IZR (E s)) by (apply IZR_lt; lia).
    assert (two : IZR (2 ^ bits) * powerRZ 2 (- bits) = 1).
    { replace (IZR (2 ^ bits)) with (powerRZ 2 bits).
      - rewrite <- powerRZ_add by lra. replace (bits + - bits)%Z with 0%Z by lia. reflexivity.
      - destruct bits as [|p|p]; [reflexivity| |lia]. simpl powerRZ. rewrite pow_IZR. f_equal. rewrite positive_nat_Z. reflexivity. }
    pose proof (power_pos (- bits)) as Pw.
    apply Rle_trans with (value r bits * IZR (E s)); [|apply Rmult_le_compat_r; lra].
    unfold value. apply Rmult_le_compat_r with (r := powerRZ 2 (- bits)) in K; [|lra].
    replace (IZR (2 ^ bits) * IZR (E (s + Chat)%Z) * powerRZ 2 (- bits))
      with (IZR (2 ^ bits) * powerRZ 2 (- bits) * IZR (E (s + Chat)%Z)) in K by ring.
    rewrite two in K. lra.
Qed.

(* bound = floor(x 2^56) and a 10^9-th of it, rounded down: lambda is at most x (1 + 10^-9), x = Chat kappa. *)
Lemma step_4_lambda x : (0 <= x)%Z -> let bound := (x + x / 1000000000)%Z in
  IZR bound <= IZR x * (1 + / 1000000000).
Proof.
  intros H bound. unfold bound. rewrite plus_IZR. pose proof (IZR_div_le x 1000000000 ltac:(lia)). lra.
Qed.
