(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 10: a table of bounds V_k that obeys the recursion is never below delta of k adaptive steps of bounded range eta, either way round.
   dp/exact.c computes such a table; that its polygon and its rounding obey the recursion (step 11) is not proved here. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws transcripts step_05_bounded_range.
Import ListNotations.
Open Scope R_scope.

(* p_t, with u = e^t. *)
Definition two_point (eta u : R) : R := (1 - u * exp (- eta)) / (1 - exp (- eta)).

(* V k a bounds delta of at most k steps at a = e^epsilon. *)
Record obeys_recursion (eta : R) (V : nat -> R -> R) : Prop := {
  bounds_start : forall a, 0 < a -> Rmax 0 (1 - a) <= V 0%nat a;
  bounds_convex : forall k s a b, 0 <= s <= 1 -> 0 < a -> 0 < b ->
    V k (s * a + (1 - s) * b) <= s * V k a + (1 - s) * V k b;
  bounds_step : forall k a u, 0 < a -> 1 <= u <= exp eta ->
    two_point eta u * V k (a / u) + (1 - two_point eta u) * V k (a / (u * exp (- eta))) <= V (S k) a
}.

Section Exact.
Variable eta : R.
Hypothesis eta_pos : 0 < eta.
Variable V : nat -> R -> R.
Hypothesis recursion : obeys_recursion eta V.

Lemma shrink : 0 < exp (- eta) < 1.
Proof. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing; lra. Qed.

(* A step that is skipped is t = 0. *)
Lemma step_10_never_falls k a : 0 < a -> V k a <= V (S k) a.
Proof.
  intros Ha. pose proof shrink.
  assert (1 <= exp eta) by (rewrite <- exp_0; apply Rlt_le, exp_increasing; lra).
  pose proof (bounds_step _ _ recursion k a 1 Ha ltac:(lra)) as H1.
  replace (two_point eta 1) with 1 in H1 by (unfold two_point; field; lra).
  replace (a / 1) with a in H1 by field. lra.
Qed.

Lemma above_start k a : 0 < a -> Rmax 0 (1 - a) <= V k a.
Proof.
  intros Ha. induction k as [|k IH]; [apply (bounds_start _ _ recursion); auto|].
  pose proof (step_10_never_falls k a Ha). lra.
Qed.

(* x V(a/x) lies below its chord. *)
Lemma chord k a lo hi x : 0 < a -> 0 < lo < hi -> lo <= x <= hi ->
  x * V k (a / x) <= ((hi - x) * (lo * V k (a / lo)) + (x - lo) * (hi * V k (a / hi))) / (hi - lo).
Proof.
  intros Ha Hl Hx.
  set (s := (hi - x) * lo / (x * (hi - lo))).
  assert (D : 0 < x * (hi - lo)) by (apply Rmult_lt_0_compat; lra).
  assert (s1 : 1 - s = (x - lo) * hi / (x * (hi - lo))) by (unfold s; field; lra).
  assert (Hs : 0 <= s <= 1).
  { split.
    - unfold s. apply Rmult_le_pos; [apply Rmult_le_pos; lra|]. apply Rlt_le, Rinv_0_lt_compat; auto.
    - assert (0 <= 1 - s); [rewrite s1|lra].
      apply Rmult_le_pos; [apply Rmult_le_pos; lra|]. apply Rlt_le, Rinv_0_lt_compat; auto. }
  pose proof (bounds_convex _ _ recursion k s (a / lo) (a / hi) Hs
    ltac:(apply Rdiv_lt_0_compat; lra) ltac:(apply Rdiv_lt_0_compat; lra)) as C.
  replace (s * (a / lo) + (1 - s) * (a / hi)) with (a / x) in C by (rewrite s1; unfold s; field; lra).
  apply Rle_trans with (x * (s * V k (a / lo) + (1 - s) * V k (a / hi))).
  - apply Rmult_le_compat_l; lra.
  - right. rewrite s1; unfold s. field. lra.
Qed.

Lemma range_ratio {T} (l : list T) P Q y z : is_law l P -> is_law l Q -> bounded_range l eta P Q ->
  In y l -> In z l -> P y / Q y <= exp eta * (P z / Q z).
Proof.
  intros HP HQ Rg Hy Hz. specialize (Rg y z Hy Hz). unfold loss in Rg.
  assert (0 < P y / Q y) by (apply Rdiv_lt_0_compat; [apply HP|apply HQ]; auto).
  assert (0 < P z / Q z) by (apply Rdiv_lt_0_compat; [apply HP|apply HQ]; auto).
  rewrite <- (exp_ln (P y / Q y)), <- (exp_ln (P z / Q z)) at 1 by auto.
  rewrite <- exp_plus. apply exp_le. lra.
Qed.

(* The worst law on an interval of length eta has two points. *)
Lemma step_10_two_points {T} (l : list T) (P Q : T -> R) k a :
  is_law l P -> is_law l Q -> bounded_range l eta P Q ->
  0 < a -> sum (fun y => P y * V k (a / (P y / Q y))) l <= V (S k) a.
Proof.
  intros PL QL Rg Ha. pose proof (proj1 PL) as HP. pose proof (proj2 PL) as P1.
  pose proof (proj1 QL) as HQ. pose proof (proj2 QL) as Q1.
  destruct (least (fun y => P y / Q y) l (law_has_a_point l P PL)) as (z & Hz & Mz). cbv beta in Mz.
  set (lo := P z / Q z). set (hi := lo * exp eta).
  assert (lo0 : 0 < lo) by (apply Rdiv_lt_0_compat; auto).
  assert (e1 : 1 < exp eta) by (rewrite <- exp_0; apply exp_increasing; lra).
  assert (hl : lo < hi) by (unfold hi; pose proof (Rmult_lt_compat_l lo 1 (exp eta) lo0 e1); lra).
  (* the mean of P/Q under Q is 1, so lo <= 1 <= hi *)
  assert (Lo1 : lo <= 1).
  { rewrite <- P1. rewrite <- (Rmult_1_r lo). rewrite <- Q1, <- sum_scal. apply sum_le. intros y Hy.
    specialize (HQ y Hy). specialize (Mz y Hy). fold lo in Mz.
    replace (P y) with (P y / Q y * Q y) by (field; lra). apply Rmult_le_compat_r; lra. }
  assert (Hi1 : 1 <= hi).
  { rewrite <- P1. rewrite <- (Rmult_1_r hi). rewrite <- Q1, <- sum_scal. apply sum_le. intros y Hy.
    specialize (HQ y Hy). pose proof (range_ratio l P Q y z PL QL Rg Hy Hz) as Rz. fold lo in Rz.
    replace (P y) with (P y / Q y * Q y) by (field; lra). apply Rmult_le_compat_r; unfold hi; lra. }
  set (g := lo * V k (a / lo)). set (f := hi * V k (a / hi)).
  apply Rle_trans with (sum (fun y => ((hi * g - lo * f) / (hi - lo)) * Q y + ((f - g) / (hi - lo)) * P y) l).
  - apply sum_le. intros y Hy. specialize (HP y Hy). specialize (HQ y Hy).
    pose proof (Mz y Hy) as M. fold lo in M.
    pose proof (range_ratio l P Q y z PL QL Rg Hy Hz) as Rz. fold lo in Rz.
    assert (x1 : lo <= P y / Q y <= hi) by (unfold hi; lra).
    pose proof (chord k a lo hi (P y / Q y) Ha ltac:(lra) x1) as C. fold g f in C.
    replace (P y * V k (a / (P y / Q y))) with (Q y * (P y / Q y * V k (a / (P y / Q y)))) by (field; lra).
    apply Rle_trans with (Q y * (((hi - P y / Q y) * g + (P y / Q y - lo) * f) / (hi - lo))).
    + apply Rmult_le_compat_l; lra.
    + right. field. lra.
  - rewrite sum_plus, !sum_scal, P1, Q1.
    assert (Hh : hi <= exp eta).
    { unfold hi. pose proof (Rmult_le_compat_r (exp eta) lo 1 ltac:(lra) Lo1). lra. }
    eapply Rle_trans; [|apply (bounds_step _ _ recursion k a hi Ha (conj Hi1 Hh))].
    assert (lo_hi : hi * exp (- eta) = lo).
    { unfold hi. rewrite Rmult_assoc, <- exp_plus. replace (eta + - eta) with 0 by ring. rewrite exp_0; ring. }
    unfold two_point. rewrite lo_hi. right. pose proof shrink.
    replace (exp (- eta)) with (lo / hi) by (rewrite <- lo_hi; field; lra).
    unfold f, g. field. lra.
Qed.

Section Sequence.
Context {T : Type}.
Variable tokens : list T -> list T.
Variables P Q : list T -> T -> R.
Variable looks : list T -> bool.
Hypothesis P_laws : laws tokens P.
Hypothesis Q_laws : laws tokens Q.
Hypothesis range : forall h, looks h = true -> bounded_range (tokens h) eta (P h) (Q h).
Hypothesis free : forall h y, looks h = false -> In y (tokens h) -> P h y = Q h y.

(* E (P - a P')_+, which is delta of the whole at a = e^epsilon. *)
Definition excess (n : nat) (h : list T) (a : R) : R :=
  sum (fun t => Rmax 0 (joint P h t - a * joint Q h t)) (transcripts tokens n h).

Lemma excess_step n h a :
  excess (S n) h a = sum (fun y => P h y * excess n (h ++ [y]) (a / (P h y / Q h y))) (tokens h).
Proof.
  unfold excess. simpl transcripts. rewrite sum_flat_map. apply sum_ext. intros y Hy.
  rewrite sum_map, <- sum_scal. apply sum_ext. intros t _. simpl.
  pose proof (proj1 (P_laws h) y Hy). pose proof (proj1 (Q_laws h) y Hy).
  rewrite <- RmaxRmult by lra. rewrite Rmult_0_r. f_equal. field; lra.
Qed.

Theorem step_10_excess n : forall h k a, 0 < a ->
  (forall t, In t (transcripts tokens n h) -> (looked looks h t <= k)%nat) -> excess n h a <= V k a.
Proof.
  induction n as [|n IH]; intros h k a Ha B.
  - unfold excess; simpl. rewrite Rmult_1_r, Rplus_0_r. apply above_start; auto.
  - rewrite excess_step.
    assert (apos : forall y, In y (tokens h) -> 0 < a / (P h y / Q h y)).
    { intros y Hy. apply Rdiv_lt_0_compat; auto.
      apply Rdiv_lt_0_compat; [apply P_laws|apply Q_laws]; auto. }
    destruct (looks h) eqn:Lk.
    + destruct k as [|k].
      { exfalso. destruct (law_has_a_point _ _ (joint_is_law tokens P (S n) h P_laws)) as [t Ht].
        pose proof (B t Ht) as Bt. simpl in Ht. apply in_flat_map in Ht. destruct Ht as (y & _ & Ht).
        apply in_map_iff in Ht. destruct Ht as (t' & <- & _). simpl in Bt. rewrite Lk in Bt. lia. }
      apply Rle_trans with (sum (fun y => P h y * V k (a / (P h y / Q h y))) (tokens h)).
      * apply sum_le. intros y Hy. apply Rmult_le_compat_l; [apply Rlt_le; apply P_laws; auto|].
        apply IH; auto. intros t Ht. specialize (B _ (transcripts_cons tokens n h y t Hy Ht)).
        simpl in B. rewrite Lk in B. lia.
      * apply step_10_two_points; auto.
    + apply Rle_trans with (sum (fun y => P h y * V k a) (tokens h)).
      * apply sum_le. intros y Hy. pose proof (proj1 (P_laws h) y Hy). apply Rmult_le_compat_l; [lra|].
        pose proof (free h y Lk Hy) as F.
        replace (a / (P h y / Q h y)) with a by (rewrite <- F; field; lra).
        apply IH; auto. intros t Ht. specialize (B _ (transcripts_cons tokens n h y t Hy Ht)).
        simpl in B. rewrite Lk in B. lia.
      * rewrite sum_scal_r, (proj2 (P_laws h)). lra.
Qed.

(* So the guarantee holds for every event. *)
Theorem step_10_eps_delta n k eps h :
  (forall t, In t (transcripts tokens n h) -> (looked looks h t <= k)%nat) ->
  eps_delta (transcripts tokens n h) eps (V k (exp eps)) (joint P h) (joint Q h).
Proof.
  intros B A. pose proof (step_10_excess n h k (exp eps) (exp_pos eps) B) as X. unfold excess in X.
  apply Rle_trans with (exp eps * chance (transcripts tokens n h) (joint Q h) A +
     sum (fun t => Rmax 0 (joint P h t - exp eps * joint Q h t)) (transcripts tokens n h)); [|lra].
  unfold chance. rewrite <- sum_scal, <- sum_plus. apply sum_le. intros t _.
  pose proof (Rmax_l 0 (joint P h t - exp eps * joint Q h t)).
  pose proof (Rmax_r 0 (joint P h t - exp eps * joint Q h t)).
  destruct (A t); lra.
Qed.
End Sequence.
End Exact.

(* There is such a table: k steps are never worse than k eta of pure privacy. *)
Definition pure_bound (eta : R) (k : nat) (a : R) : R := Rmax 0 (1 - a * exp (- (INR k * eta))).

Lemma step_10_instance eta : 0 < eta -> obeys_recursion eta (pure_bound eta).
Proof.
  intros He. pose proof (shrink eta He) as Sh.
  assert (falls : forall k a b, a <= b -> pure_bound eta k b <= pure_bound eta k a).
  { intros k a b H. unfold pure_bound. pose proof (exp_pos (- (INR k * eta))).
    pose proof (Rmult_le_compat_r _ a b (Rlt_le _ _ H0) H).
    apply Rle_max_compat_l. lra. }
  split; unfold pure_bound.
  - intros a Ha. simpl INR. rewrite Rmult_0_l, Ropp_0, exp_0, Rmult_1_r. lra.
  - intros k s a b Hs Ha Hb. set (e := exp (- (INR k * eta))).
    pose proof (Rmax_l 0 (1 - a * e)). pose proof (Rmax_r 0 (1 - a * e)).
    pose proof (Rmax_l 0 (1 - b * e)). pose proof (Rmax_r 0 (1 - b * e)).
    apply Rmax_lub.
    + assert (0 <= s * Rmax 0 (1 - a * e)) by (apply Rmult_le_pos; lra).
      assert (0 <= (1 - s) * Rmax 0 (1 - b * e)) by (apply Rmult_le_pos; lra). lra.
    + assert (s * (1 - a * e) <= s * Rmax 0 (1 - a * e)) by (apply Rmult_le_compat_l; lra).
      assert ((1 - s) * (1 - b * e) <= (1 - s) * Rmax 0 (1 - b * e)) by (apply Rmult_le_compat_l; lra). lra.
  - intros k a u Ha Hu.
    change (two_point eta u * pure_bound eta k (a / u) +
            (1 - two_point eta u) * pure_bound eta k (a / (u * exp (- eta))) <= pure_bound eta (S k) a).
    assert (one : exp eta * exp (- eta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (p01 : 0 <= two_point eta u <= 1).
    { assert (u * exp (- eta) <= 1) by (rewrite <- one; apply Rmult_le_compat_r; lra).
      assert (1 * exp (- eta) <= u * exp (- eta)) by (apply Rmult_le_compat_r; lra).
      unfold two_point. split.
      - apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat; lra.
      - apply Rmult_le_reg_r with (1 - exp (- eta)); [lra|].
        replace ((1 - u * exp (- eta)) / (1 - exp (- eta)) * (1 - exp (- eta)))
          with (1 - u * exp (- eta)) by (field; lra). lra. }
    assert (next : pure_bound eta (S k) a = pure_bound eta k (a * exp (- eta))).
    { unfold pure_bound. rewrite S_INR. f_equal. f_equal.
      replace (- ((INR k + 1) * eta)) with (- eta + - (INR k * eta)) by ring.
      rewrite exp_plus. ring. }
    rewrite next.
    assert (u1 : exp (- eta) <= / u).
    { apply Rmult_le_reg_r with u; [lra|]. rewrite Rinv_l by lra.
      rewrite <- one, (Rmult_comm (exp eta)). apply Rmult_le_compat_l; lra. }
    assert (A1 : pure_bound eta k (a / u) <= pure_bound eta k (a * exp (- eta))).
    { apply falls. apply Rmult_le_compat_l; lra. }
    assert (A2 : pure_bound eta k (a / (u * exp (- eta))) <= pure_bound eta k (a * exp (- eta))).
    { apply falls. apply Rmult_le_compat_l; [lra|]. rewrite Rinv_mult.
      assert (/ exp (- eta) = exp eta) by (rewrite exp_Ropp, Rinv_inv; auto). rewrite H.
      assert (one_e : 1 <= exp eta) by (rewrite <- exp_0; apply exp_le; lra).
      assert (exp (- eta) * 1 <= / u * exp eta).
      { apply Rmult_le_compat; lra. } lra. }
    assert (two_point eta u * pure_bound eta k (a / u) <= two_point eta u * pure_bound eta k (a * exp (- eta)))
      by (apply Rmult_le_compat_l; lra).
    assert ((1 - two_point eta u) * pure_bound eta k (a / (u * exp (- eta)))
            <= (1 - two_point eta u) * pure_bound eta k (a * exp (- eta)))
      by (apply Rmult_le_compat_l; lra).
    lra.
Qed.
