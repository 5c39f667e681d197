(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 40: counts with discrete Laplace noise lose 1/t up or down, so what follows them with one profile costs by the two-point formula.
   Seats keep every share of batches that are used under a q that is fixed before the counts, so what follows has one profile (step 39). *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_03_sum step_10_exact theorem_invisibleink step_39_lots.
Import ListNotations.
Open Scope R_scope.

(* ln(P/Q) is +e or -e, never anything between. *)
Definition two_valued {C} (l : list C) (e : R) (P Q : C -> R) : Prop :=
  forall z, In z l -> P z = exp e * Q z \/ P z = exp (- e) * Q z.

Lemma two_valued_sym {C} (l : list C) e P Q : two_valued l e P Q -> two_valued l e Q P.
Proof.
  intros H z Hz. assert (one : exp e * exp (- e) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  destruct (H z Hz) as [-> | ->]; [right|left]; rewrite <- Rmult_assoc; [rewrite (Rmult_comm (exp (- e)))|]; rewrite one; ring.
Qed.

(* The chance of +e under P. *)
Definition chance_up (e : R) : R := / (1 + exp (- e)).
Definition two_point_formula (e : R) (profile : R -> R) (eps : R) : R :=
  chance_up e * profile (eps - e) + (1 - chance_up e) * profile (eps + e).

Section TwoPoints.
Context {Counts Out : Type}.
Variable counts : list Counts.
Variables P Q : Counts -> R.
Variable e : R.
Hypothesis P_law : is_law counts P.
Hypothesis Q_law : is_law counts Q.
Hypothesis e_pos : 0 < e.
Hypothesis two : two_valued counts e P Q.
(* What follows the counts z, and a profile that it has whatever they are. *)
Variable outs : Counts -> list Out.
Variables P2 Q2 : Counts -> Out -> R.
Variable profile : R -> R.
Hypothesis after : forall z eps, In z counts -> 0 <= eps -> eps_delta (outs z) eps (profile eps) (P2 z) (Q2 z).

Definition both : list (Counts * Out) := flat_map (fun z => map (pair z) (outs z)) counts.
Definition together (A : Counts -> R) (B : Counts -> Out -> R) (o : Counts * Out) : R := A (fst o) * B (fst o) (snd o).

Let up (z : Counts) : bool := if Req_EM_T (P z) (exp e * Q z) then true else false.

Lemma shares_of_up : chance counts P up = chance_up e /\ sum (fun z => if up z then 0 else P z) counts = 1 - chance_up e.
Proof.
  set (p := chance counts P up).
  assert (whole : p + sum (fun z => if up z then 0 else P z) counts = 1).
  { unfold p, chance. rewrite <- sum_plus. rewrite <- (proj2 P_law). apply sum_ext. intros z _. destruct (up z); ring. }
  assert (other : exp (- e) * p + exp e * sum (fun z => if up z then 0 else P z) counts = 1).
  { unfold p, chance. rewrite <- !sum_scal, <- sum_plus. rewrite <- (proj2 Q_law). apply sum_ext. intros z Hz.
    assert (one : exp e * exp (- e) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    unfold up. destruct (Req_EM_T (P z) (exp e * Q z)) as [U|U].
    - rewrite U, Rmult_0_r, Rplus_0_r, <- Rmult_assoc, (Rmult_comm (exp (- e))), one. ring.
    - destruct (two z Hz) as [K|K]; [contradiction|].
      rewrite K, Rmult_0_r, Rplus_0_l, <- Rmult_assoc, one. ring. }
  assert (e1 : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; auto).
  assert (X : p = chance_up e).
  { pose proof (exp_pos (- e)) as i0. unfold chance_up. rewrite exp_Ropp in *.
    replace (sum (fun z => if up z then 0 else P z) counts) with (1 - p) in other by lra.
    apply Rmult_eq_reg_r with (1 + / exp e); [|lra]. rewrite Rinv_l by lra.
    apply Rmult_eq_reg_r with (exp e - 1); [|lra].
    assert (K : / exp e * p * exp e = p) by (field; lra).
    replace (p * (1 + / exp e) * (exp e - 1)) with (exp e * p - / exp e * p + (/ exp e * p * exp e - p)) by ring.
    rewrite K. lra. }
  split; [auto|]. lra.
Qed.

Theorem step_40_two_points eps : e <= eps ->
  eps_delta both eps (two_point_formula e profile eps) (together P P2) (together Q Q2).
Proof.
  intros He. refine (proj2 (step_39_hockey_stick _ _ _ _ _) _). unfold hockey_stick, both. rewrite sum_flat_map.
  destruct shares_of_up as [Up Down].
  apply Rle_trans with (sum (fun z => (if up z then P z else 0) * profile (eps - e) +
                                      (if up z then 0 else P z) * profile (eps + e)) counts).
  - apply sum_le. intros z Hz. rewrite sum_map. unfold together. simpl.
    pose proof (proj1 P_law z Hz).
    assert (one : exp e * exp (- e) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (bound : forall f, 0 <= f -> P z * exp f = exp eps * Q z ->
      sum (fun t => Rmax 0 (P z * P2 z t - exp eps * (Q z * Q2 z t))) (outs z) <= P z * profile f).
    { intros f Hf K. apply Rle_trans with (P z * hockey_stick (outs z) (exp f) (P2 z) (Q2 z)).
      - unfold hockey_stick. rewrite <- sum_scal. right. apply sum_ext. intros t _.
        rewrite <- RmaxRmult, Rmult_0_r by lra. f_equal. rewrite <- Rmult_assoc, <- K. ring.
      - apply Rmult_le_compat_l; [lra|]. exact (proj1 (step_39_hockey_stick _ _ _ _ _) (after z f Hz Hf)). }
    unfold up. destruct (Req_EM_T (P z) (exp e * Q z)) as [U|U].
    + rewrite Rmult_0_l, Rplus_0_r. apply bound; [lra|]. unfold Rminus. rewrite U, exp_plus.
      transitivity (exp eps * Q z * (exp e * exp (- e))); [ring|rewrite one; ring].
    + rewrite Rmult_0_l, Rplus_0_l. apply bound; [lra|].
      destruct (two z Hz) as [V|V]; [contradiction|]. rewrite V, exp_plus.
      transitivity (exp eps * Q z * (exp e * exp (- e))); [ring|rewrite one; ring].
  - rewrite sum_plus, !sum_scal_r, Down. fold (chance counts P up). rewrite Up. unfold two_point_formula. lra.
Qed.
End TwoPoints.

(* Discrete Laplace noise around the count n, at the scale t, clamped to lo .. hi: r = e^(-1/t). What is beyond an end stands at the end. *)
Section Laplace.
Variable t : R.
Hypothesis t_pos : 0 < t.
Let r : R := exp (- / t).

Definition noisy (lo hi n z : Z) : R :=
  let decay := r ^ Z.to_nat (Z.abs (z - n)) in
  if Z.eqb z lo then decay / (1 + r) else if Z.eqb z hi then decay / (1 + r) else (1 - r) / (1 + r) * decay.
(* lo .. hi, below and above n. *)
Definition range_of (lo : Z) (k : nat) : list Z := map (fun i => (lo + Z.of_nat i)%Z) (seq 0 (S k)).

Lemma r_range : 0 < r < 1.
Proof.
  unfold r. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. pose proof (Rinv_0_lt_compat t t_pos). lra.
Qed.

(* One record more in a cluster: the loss is 1/t on one side and -1/t on the other, at every outcome. *)
Lemma step_40_laplace_is_two_valued lo k n : (lo <= n)%Z -> (n < lo + Z.of_nat k)%Z ->
  two_valued (range_of lo k) (/ t) (noisy lo (lo + Z.of_nat k) n) (noisy lo (lo + Z.of_nat k) (n + 1)).
Proof.
  intros Hlo Hhi z Hz. apply in_map_iff in Hz. destruct Hz as (i & <- & Hi). apply in_seq in Hi.
  set (z := (lo + Z.of_nat i)%Z). assert (Rz : (lo <= z <= lo + Z.of_nat k)%Z) by (unfold z; lia).
  assert (inv : exp (/ t) * r = 1).
  { unfold r. rewrite <- exp_plus, Rplus_opp_r. apply exp_0. }
  destruct (Z_le_gt_dec z n) as [Low|High].
  - left. assert (E : Z.to_nat (Z.abs (z - (n + 1))) = S (Z.to_nat (Z.abs (z - n)))) by lia.
    unfold noisy. rewrite E. simpl pow. set (d := r ^ Z.to_nat (Z.abs (z - n))).
    assert (C : exp (/ t) * (r * d) = d) by (rewrite <- Rmult_assoc, inv; ring).
    destruct (Z.eqb z lo); [|destruct (Z.eqb z (lo + Z.of_nat k))]; unfold Rdiv.
    1,2: rewrite <- Rmult_assoc, C; auto.
    transitivity ((1 - r) * / (1 + r) * (exp (/ t) * (r * d))); [rewrite C; auto|ring].
  - right. assert (E : Z.to_nat (Z.abs (z - n)) = S (Z.to_nat (Z.abs (z - (n + 1))))) by lia.
    unfold noisy. rewrite E. simpl pow. set (d := r ^ Z.to_nat (Z.abs (z - (n + 1)))).
    change (exp (- / t)) with r.
    destruct (Z.eqb z lo); [|destruct (Z.eqb z (lo + Z.of_nat k))]; unfold Rdiv; ring.
Qed.

(* The chance of z or less, for z below hi. *)
Let below (a m : nat) : R := if Nat.leb m a then r ^ (a - m) / (1 + r) else 1 - r ^ (m - a + 1) / (1 + r).

Lemma noisy_below lo k n m : (lo < n)%Z -> (n < lo + Z.of_nat k)%Z -> (m < k)%nat ->
  sum (fun i => noisy lo (lo + Z.of_nat k) n (lo + Z.of_nat i)) (seq 0 (S m)) = below (Z.to_nat (n - lo)) m.
Proof.
  intros Hlo Hhi. set (a := Z.to_nat (n - lo)). assert (Ha : n = (lo + Z.of_nat a)%Z) by lia. pose proof r_range.
  induction m as [|m IH]; intros Hm.
  - simpl. unfold noisy, below. rewrite (proj2 (Z.eqb_eq _ lo)) by lia.
    replace (Z.to_nat (Z.abs (lo + 0 - n))) with a by lia. replace (a - 0)%nat with a by lia. simpl. ring.
  - rewrite seq_S, sum_app, IH by lia. clear IH. cbn [sum]. rewrite Rplus_0_r, Nat.add_0_l. unfold noisy.
    rewrite (proj2 (Z.eqb_neq _ lo)), (proj2 (Z.eqb_neq _ (lo + Z.of_nat k))) by lia. unfold below.
    destruct (Nat.leb_spec m a), (Nat.leb_spec (S m) a); try lia.
    + replace (Z.to_nat (Z.abs (lo + Z.of_nat (S m) - n))) with (a - S m)%nat by lia.
      replace (a - m)%nat with (S (a - S m)) by lia. simpl pow. field. lra.
    + replace (Z.to_nat (Z.abs (lo + Z.of_nat (S m) - n))) with 1%nat by lia.
      replace (a - m)%nat with 0%nat by lia. replace (S m - a + 1)%nat with 2%nat by lia. simpl. field. lra.
    + replace (Z.to_nat (Z.abs (lo + Z.of_nat (S m) - n))) with (m - a + 1)%nat by lia.
      replace (S m - a + 1)%nat with (S (m - a + 1)) by lia. simpl pow. field. lra.
Qed.

Lemma step_40_laplace_is_law lo k n : (lo < n)%Z -> (n < lo + Z.of_nat k)%Z ->
  is_law (range_of lo k) (noisy lo (lo + Z.of_nat k) n).
Proof.
  intros Hlo Hhi. pose proof r_range. split.
  - intros z _. unfold noisy. pose proof (pow_lt r (Z.to_nat (Z.abs (z - n))) ltac:(lra)).
    destruct (Z.eqb z lo); [|destruct (Z.eqb z (lo + Z.of_nat k))]; try (apply Rdiv_lt_0_compat; lra).
    apply Rmult_lt_0_compat; auto. apply Rdiv_lt_0_compat; lra.
  - unfold range_of. rewrite sum_map. destruct k as [|k]; [lia|].
    rewrite (seq_S (S k)), sum_app, noisy_below by lia. cbn [sum]. rewrite Rplus_0_r, Nat.add_0_l. unfold noisy, below.
    set (a := Z.to_nat (n - lo)). assert (Ha : n = (lo + Z.of_nat a)%Z) by lia.
    rewrite (proj2 (Z.eqb_neq _ lo)), (proj2 (Z.eqb_eq _ (lo + Z.of_nat (S k)))) by lia.
    destruct (Nat.leb_spec k a).
    + replace (Z.to_nat (Z.abs (lo + Z.of_nat (S k) - n))) with 1%nat by lia.
      replace (a - k)%nat with 0%nat by lia. simpl. field. lra.
    + replace (Z.to_nat (Z.abs (lo + Z.of_nat (S k) - n))) with (k - a + 1)%nat by lia. field. lra.
Qed.
End Laplace.

(* The other clusters' counts are noisy counts of the same numbers: one law in both worlds. *)
Lemma step_40_other_counts {C D} (l : list C) (m : list D) e P Q (W : D -> R) : two_valued l e P Q ->
  two_valued (flat_map (fun z => map (pair z) m) l) e (fun o => P (fst o) * W (snd o)) (fun o => Q (fst o) * W (snd o)).
Proof.
  intros H (z, w) Hz. apply in_flat_map in Hz. destruct Hz as (z' & Hz & Hw). apply in_map_iff in Hw.
  destruct Hw as (w' & E & _). injection E as -> ->. simpl. destruct (H z Hz) as [-> | ->]; [left|right]; ring.
Qed.

(* Seats: those of the fractions 1/M, 2/M, ... that are taken are at most q* = a/b. Then so is the share of the M batches that they use. *)
Lemma step_40_seats (taken : list nat) (M a b : nat) : NoDup taken ->
  (forall i, In i taken -> (1 <= i)%nat /\ (i * b <= a * M)%nat) -> (length taken * b <= a * M)%nat.
Proof.
  intros N H. destruct b as [|b]; [lia|].
  assert (L : (length taken <= a * M / S b)%nat).
  { rewrite <- (seq_length (a * M / S b) 1). apply NoDup_incl_length; auto. intros i Hi. destruct (H i Hi) as [I1 I2].
    apply in_seq. pose proof (Nat.div_le_lower_bound (a * M) (S b) i ltac:(lia) ltac:(lia)). lia. }
  pose proof (Nat.mul_div_le (a * M) (S b) ltac:(lia)). nia.
Qed.

(* The whole: counts, then a run with lots, whose batches and shares follow from the counts; q stands before them. *)
Section Whole.
Context {Token Reference Counts : Type}.
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.
Variable counts : list Counts.
Variables P Q : Counts -> R.
Variable e : R.
Hypothesis P_law : is_law counts P.
Hypothesis Q_law : is_law counts Q.
Hypothesis e_pos : 0 < e.
Hypothesis two : two_valued counts e P Q.
Variable T : nat.
Variable n : Counts -> nat.
Variable batch_of : Counts -> list Token -> nat.
Variable used : Counts -> nat -> bool.
Variable choices : Counts -> list (list nat).
Variables (records : list (option Reference)) (j : nat).
Hypothesis only_used : forall z h, used z (batch_of z h) = true.
Hypothesis cap : forall z, capped_each M (batch_of z) (n z) T.
Hypothesis j_there : (j < length records)%nat.
Hypothesis as_many : forall z, length (choices z) = length records.
Hypothesis some_batch : forall z c, In c (choices z) -> c <> [].
Variable q : R.
Hypothesis q_pos : 0 < q.
Hypothesis share_q : forall z, share (nth j (choices z) []) (used z) <= q.
Variable V : nat -> R -> R.
Hypothesis V_bounds : obeys_recursion (eta_of (ratio M)) V.
Hypothesis ratio_pos : 0 < ratio M.

Definition lots_profile (eps : R) : R := q * V T (1 + (exp eps - 1) / q).

Theorem step_40_run eps : e <= eps ->
  let outs z := outputs M (n z) in
  let world A refs := together A (fun z => run M row (batch_of z) (choices z) refs) in
  eps_delta (both counts outs) eps (two_point_formula e lots_profile eps) (world P records) (world Q (blank records j)) /\
  eps_delta (both counts outs) eps (two_point_formula e lots_profile eps) (world Q (blank records j)) (world P records).
Proof.
  intros He outs world. unfold world. split; apply step_40_two_points; auto using two_valued_sym; intros z f _ Hf.
  - apply (step_39_exact M row M_sound (batch_of z) (used z) (only_used z) (n z) T (cap z) (choices z) records j
      j_there (as_many z) (some_batch z) q q_pos (share_q z) V f ratio_pos V_bounds Hf).
  - apply (step_39_exact M row M_sound (batch_of z) (used z) (only_used z) (n z) T (cap z) (choices z) records j
      j_there (as_many z) (some_batch z) q q_pos (share_q z) V f ratio_pos V_bounds Hf).
Qed.
End Whole.
