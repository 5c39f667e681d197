(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 46: AboveThreshold with lattice noise moves the odds of a unit's answers by e^(2 Delta / t1) at most, however its questions are chosen.
   A row moves the distance D by Delta at most; discrete Laplace noise is that of step 40, without the clamp. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

(* ---- noise ----------------------------------------------------------------------------------- *)

(* The law of dp_noise_laplace at the scale t, and the chance that noise is at least k. *)
Definition decay (t : R) : R := exp (- / t).
Definition dlap (t : R) (z : Z) : R := (1 - decay t) / (1 + decay t) * decay t ^ Z.to_nat (Z.abs z).
Definition at_least (t : R) (k : Z) : R :=
  if Z.ltb 0 k then decay t ^ Z.to_nat k / (1 + decay t) else 1 - decay t ^ Z.to_nat (1 - k) / (1 + decay t).

(* -M .. M. *)
Definition window (M : nat) : list Z := map (fun i => (Z.of_nat i - Z.of_nat M)%Z) (seq 0 (2 * M + 1)).

Lemma decay_range t : 0 < t -> 0 < decay t < 1.
Proof.
  intros H. unfold decay. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
  pose proof (Rinv_0_lt_compat t H). lra.
Qed.

Lemma power_range r n : 0 < r < 1 -> 0 < r ^ n <= 1.
Proof.
  intros H. split; [apply pow_lt; lra|]. rewrite <- (pow1 n). apply pow_incr; lra.
Qed.

(* at_least is the tail of dlap: one more or less is a point's chance, and it lies in 0 .. 1. *)
Lemma step_46_tail_of_noise t k : 0 < t -> at_least t k - at_least t (k + 1) = dlap t k.
Proof.
  intros H. pose proof (decay_range t H) as D. unfold at_least, dlap. set (r := decay t) in *.
  destruct (Z.ltb_spec 0 k), (Z.ltb_spec 0 (k + 1)); try lia.
  - replace (Z.to_nat (k + 1)) with (S (Z.to_nat k)) by lia. replace (Z.to_nat (Z.abs k)) with (Z.to_nat k) by lia.
    simpl. field. lra.
  - replace k with 0%Z by lia. simpl. field. lra.
  - replace (Z.to_nat (1 - k)) with (S (Z.to_nat (Z.abs k))) by lia.
    replace (Z.to_nat (1 - (k + 1))) with (Z.to_nat (Z.abs k)) by lia. simpl. field. lra.
Qed.

Lemma at_least_range t k : 0 < t -> 0 < at_least t k < 1.
Proof.
  intros H. pose proof (decay_range t H) as D. unfold at_least. set (r := decay t) in *.
  destruct (Z.ltb_spec 0 k).
  - pose proof (power_range r (Z.to_nat k) D). split; [apply Rdiv_lt_0_compat; lra|].
    apply Rmult_lt_reg_r with (1 + r); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - pose proof (power_range r (Z.to_nat (1 - k)) D).
    assert (0 < r ^ Z.to_nat (1 - k) / (1 + r)) by (apply Rdiv_lt_0_compat; lra).
    assert (r ^ Z.to_nat (1 - k) / (1 + r) < 1).
    { apply Rmult_lt_reg_r with (1 + r); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    lra.
Qed.

Lemma dlap_pos t z : 0 < t -> 0 < dlap t z.
Proof.
  intros H. pose proof (decay_range t H). unfold dlap. apply Rmult_lt_0_compat.
  - apply Rdiv_lt_0_compat; lra.
  - apply pow_lt; lra.
Qed.

(* All noise within a window has the chance that is not beyond its ends, so all of it has chance 1 in the limit. *)
Lemma step_46_noise_is_law t M : 0 < t ->
  sum (dlap t) (window M) = at_least t (- Z.of_nat M) - at_least t (Z.of_nat M + 1).
Proof.
  intros H. unfold window. rewrite sum_map.
  assert (K : forall n, sum (fun i => dlap t (Z.of_nat i - Z.of_nat M)) (seq 0 n)
                        = at_least t (- Z.of_nat M) - at_least t (Z.of_nat n - Z.of_nat M)).
  { induction n as [|n IH]; [simpl; ring|].
    rewrite seq_S, sum_app, IH. cbn [sum]. rewrite Nat.add_0_l, Rplus_0_r, <- (step_46_tail_of_noise t _ H).
    replace (Z.of_nat n - Z.of_nat M + 1)%Z with (Z.of_nat (S n) - Z.of_nat M)%Z by lia. ring. }
  rewrite K. do 2 f_equal. lia.
Qed.

(* Noise that is shifted by m has odds of at most e^(m / t); and so has its tail, upwards for nothing. *)
Lemma decay_power t m : 0 < t -> exp (INR m / t) * decay t ^ m = 1.
Proof.
  intros H. unfold decay. induction m as [|m IH]; [simpl; unfold Rdiv; rewrite Rmult_0_l, exp_0; ring|].
  rewrite S_INR. replace ((INR m + 1) / t) with (INR m / t + / t) by (field; lra).
  rewrite exp_plus, <- tech_pow_Rmult.
  transitivity (exp (INR m / t) * exp (- / t) ^ m * (exp (/ t) * exp (- / t))); [ring|].
  rewrite IH, <- exp_plus, Rplus_opp_r, exp_0. ring.
Qed.

Lemma shifted_noise t z m : 0 < t -> dlap t z <= exp (INR m / t) * dlap t (z + Z.of_nat m).
Proof.
  intros H. pose proof (decay_range t H) as D. pose proof (decay_power t m H) as P. unfold dlap. set (r := decay t) in *.
  set (a := Z.to_nat (Z.abs z)). set (b := Z.to_nat (Z.abs (z + Z.of_nat m))).
  assert (L : (b <= a + m)%nat) by lia.
  assert (Q : r ^ a * r ^ m <= r ^ b).
  { rewrite <- pow_add. replace (a + m)%nat with (b + (a + m - b))%nat by lia. rewrite pow_add.
    pose proof (power_range r b D). pose proof (power_range r (a + m - b) D).
    rewrite <- (Rmult_1_r (r ^ b)) at 2. apply Rmult_le_compat_l; lra. }
  pose proof (exp_pos (INR m / t)) as E. pose proof (power_range r a D).
  assert (C : 0 < (1 - r) / (1 + r)) by (apply Rdiv_lt_0_compat; lra).
  replace (exp (INR m / t) * ((1 - r) / (1 + r) * r ^ b)) with ((1 - r) / (1 + r) * (exp (INR m / t) * r ^ b)) by ring.
  apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (exp (INR m / t) * (r ^ a * r ^ m)).
  - right. transitivity (exp (INR m / t) * r ^ m * r ^ a); [rewrite P; ring|ring].
  - apply Rmult_le_compat_l; lra.
Qed.

Lemma at_least_falls t k m : 0 < t -> at_least t (k + Z.of_nat m) <= at_least t k.
Proof.
  intros H. induction m as [|m IH]; [rewrite Z.add_0_r; lra|].
  pose proof (step_46_tail_of_noise t (k + Z.of_nat m) H). pose proof (dlap_pos t (k + Z.of_nat m) H).
  replace (k + Z.of_nat (S m))%Z with (k + Z.of_nat m + 1)%Z by lia. lra.
Qed.

Lemma shifted_tail t k m : 0 < t -> at_least t k <= exp (INR m / t) * at_least t (k + Z.of_nat m).
Proof.
  intros H. pose proof (decay_range t H) as D.
  assert (One : forall k, at_least t k <= exp (/ t) * at_least t (k + 1)).
  { clear k m. intros k. assert (inv : exp (/ t) * decay t = 1) by (unfold decay; rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (up : decay t * at_least t k <= at_least t (k + 1)).
    { unfold at_least. set (r := decay t) in *. destruct (Z.ltb_spec 0 k), (Z.ltb_spec 0 (k + 1)); try lia.
      - replace (Z.to_nat (k + 1)) with (S (Z.to_nat k)) by lia. simpl. right. field. lra.
      - replace k with 0%Z by lia. simpl. right. field. lra.
      - replace (Z.to_nat (1 - k)) with (S (Z.to_nat (1 - (k + 1)))) by lia. rewrite <- tech_pow_Rmult.
        pose proof (power_range r (Z.to_nat (1 - (k + 1))) D). set (x := r ^ Z.to_nat (1 - (k + 1))) in *.
        apply Rmult_le_reg_r with (1 + r); [lra|].
        replace (r * (1 - r * x / (1 + r)) * (1 + r)) with (r * (1 + r) - r * r * x) by (field; lra).
        replace ((1 - x / (1 + r)) * (1 + r)) with (1 + r - x) by (field; lra).
        assert (r * r <= 1 * 1) by (apply Rmult_le_compat; lra).
        assert (X : 0 <= (1 - r * r) * (1 - x)) by (apply Rmult_le_pos; lra).
        replace ((1 - r * r) * (1 - x)) with (1 - x - r * r + r * r * x) in X by ring. lra. }
    pose proof (exp_pos (/ t)). apply Rmult_le_compat_l with (r := exp (/ t)) in up; [|lra].
    rewrite <- Rmult_assoc, inv in up. lra. }
  induction m as [|m IH]; [simpl; unfold Rdiv; rewrite Rmult_0_l, exp_0, Z.add_0_r; lra|].
  rewrite S_INR. replace ((INR m + 1) / t) with (INR m / t + / t) by (field; lra). rewrite exp_plus.
  apply Rle_trans with (1 := IH). pose proof (exp_pos (INR m / t)).
  rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  replace (k + Z.of_nat (S m))%Z with (k + Z.of_nat m + 1)%Z by lia. apply One.
Qed.

(* ---- the distance ---------------------------------------------------------------------------- *)

Fixpoint zsum {T} (f : T -> Z) (l : list T) : Z :=
  match l with
  | [] => 0%Z
  | y :: m => (f y + zsum f m)%Z
  end.

(* D of the sums of rows and of s times the public row. *)
Definition distance {T} (l : list T) (rows expected : T -> Z) : Z := zsum (fun y => Z.abs (rows y - expected y)) l.

(* A row that says p, with p >= 0 and a sum of at most Delta, moves D by Delta at most. *)
Lemma step_46_a_row_moves_the_distance {T} (l : list T) (rows p expected : T -> Z) (Delta : Z) :
  (forall y, In y l -> (0 <= p y)%Z) -> (zsum p l <= Delta)%Z ->
  (Z.abs (distance l (fun y => rows y + p y)%Z expected - distance l rows expected) <= Delta)%Z.
Proof.
  intros P S. apply Z.le_trans with (2 := S). clear S. unfold distance.
  induction l as [|y m IH]; simpl; [lia|].
  assert (0 <= p y)%Z by (apply P; left; auto).
  assert (forall x, In x m -> (0 <= p x)%Z) by (intros; apply P; right; auto).
  specialize (IH ltac:(auto)). lia.
Qed.

(* ---- a unit ---------------------------------------------------------------------------------- *)

(* A unit's outcome: its free tokens, in order, and whether it fired behind them. Where it did not, the batch was stopped. *)
Section Unit.
Context {T : Type}.
Variables (t1 : R) (Theta : Z) (Delta : nat).
Hypothesis t1_pos : 0 < t1.
(* The noise of a question has twice the scale of the threshold's. *)
Definition t2 : R := 2 * t1.
(* The law of free tokens: of the public row, after what was drawn. Each token may have any chance. *)
Variable free : list T -> T -> R.
Hypothesis free_pos : forall h y, 0 <= free h y.

(* No answer but "no" behind h, where the threshold's noise is z and the distance behind h is D h. *)
Fixpoint stays (D : list T -> Z) (z : Z) (h t : list T) : R :=
  match t with
  | [] => 1
  | y :: t => (1 - at_least t2 (Theta + z - D h)) * free h y * stays D z (h ++ [y]) t
  end.
Definition given (D : list T -> Z) (z : Z) (t : list T) (fires : bool) : R :=
  stays D z [] t * (if fires then at_least t2 (Theta + z - D t) else 1).
(* The chance of an outcome: the threshold's noise is drawn once, and summed over. *)
Definition up_to (M : nat) (D : list T -> Z) (t : list T) (fires : bool) : R :=
  sum (fun z => dlap t1 z * given D z t fires) (window M).
Definition is_chance (D : list T -> Z) (t : list T) (fires : bool) (p : R) : Prop :=
  is_lub (fun x => exists M, x = up_to M D t fires) p.

Variables D D' : list T -> Z.
Hypothesis near : forall h, (Z.abs (D h - D' h) <= Z.of_nat Delta)%Z.

Lemma t2_pos : 0 < t2.
Proof. unfold t2. lra. Qed.

Lemma stays_nonneg E t : forall z h, 0 <= stays E z h t.
Proof.
  induction t as [|y t IH]; intros z h; simpl; [lra|]. pose proof (at_least_range t2 (Theta + z - E h) t2_pos).
  apply Rmult_le_pos; auto. apply Rmult_le_pos; auto. lra.
Qed.

(* Where the threshold is higher by Delta, the other world says "no" at least as often. *)
Lemma stays_shifted t : forall z h, stays D z h t <= stays D' (z + Z.of_nat Delta) h t.
Proof.
  induction t as [|y t IH]; intros z h; simpl; [lra|].
  pose proof (at_least_range t2 (Theta + z - D h) t2_pos).
  pose proof (at_least_range t2 (Theta + (z + Z.of_nat Delta) - D' h) t2_pos).
  specialize (near h).
  assert (L : at_least t2 (Theta + (z + Z.of_nat Delta) - D' h) <= at_least t2 (Theta + z - D h)).
  { replace (Theta + (z + Z.of_nat Delta) - D' h)%Z
      with (Theta + z - D h + Z.of_nat (Z.to_nat (Z.of_nat Delta + D h - D' h)))%Z by lia.
    apply at_least_falls, t2_pos. }
  apply Rmult_le_compat; auto using stays_nonneg.
  - apply Rmult_le_pos; auto. lra.
  - apply Rmult_le_compat_r; auto. lra.
Qed.

Lemma given_shifted z t fires :
  given D z t fires <= exp (INR Delta / t1) * given D' (z + Z.of_nat Delta) t fires.
Proof.
  unfold given. pose proof (stays_shifted t z []) as S. pose proof (stays_nonneg D t z []).
  assert (E : 1 <= exp (INR Delta / t1)).
  { rewrite <- exp_0 at 1. apply exp_le. apply Rmult_le_pos; [apply pos_INR|]. left. apply Rinv_0_lt_compat; auto. }
  destruct fires.
  - pose proof (at_least_range t2 (Theta + z - D t) t2_pos). specialize (near t).
    set (m := Z.to_nat (Z.of_nat Delta + D t - D' t)). assert (Hm : (m <= 2 * Delta)%nat) by (unfold m; lia).
    pose proof (shifted_tail t2 (Theta + z - D t) m t2_pos) as F.
    replace (Theta + z - D t + Z.of_nat m)%Z with (Theta + (z + Z.of_nat Delta) - D' t)%Z in F by (unfold m; lia).
    pose proof (at_least_range t2 (Theta + (z + Z.of_nat Delta) - D' t) t2_pos).
    assert (G : exp (INR m / t2) <= exp (INR Delta / t1)).
    { apply exp_le. apply le_INR in Hm. rewrite mult_INR in Hm. change (INR 2) with 2 in Hm.
      unfold t2. apply Rmult_le_reg_r with (2 * t1); [lra|].
      replace (INR m / (2 * t1) * (2 * t1)) with (INR m) by (field; lra).
      replace (INR Delta / t1 * (2 * t1)) with (2 * INR Delta) by (field; lra). auto. }
    apply Rle_trans with (stays D z [] t * (exp (INR Delta / t1) * at_least t2 (Theta + (z + Z.of_nat Delta) - D' t))).
    + apply Rmult_le_compat_l; auto. apply Rle_trans with (1 := F). apply Rmult_le_compat_r; lra.
    + replace (exp (INR Delta / t1) * (stays D' (z + Z.of_nat Delta) [] t * at_least t2 (Theta + (z + Z.of_nat Delta) - D' t)))
        with (stays D' (z + Z.of_nat Delta) [] t * (exp (INR Delta / t1) * at_least t2 (Theta + (z + Z.of_nat Delta) - D' t))) by ring.
      apply Rmult_le_compat_r; auto. apply Rmult_le_pos; lra.
  - rewrite !Rmult_1_r. pose proof (stays_nonneg D' t (z + Z.of_nat Delta) []).
    apply Rle_trans with (1 * stays D' (z + Z.of_nat Delta) [] t); [lra|]. apply Rmult_le_compat_r; auto.
Qed.

Lemma given_nonneg E z t fires : 0 <= given E z t fires.
Proof.
  unfold given. apply Rmult_le_pos; [apply stays_nonneg|].
  destruct fires; [|lra]. pose proof (at_least_range t2 (Theta + z - E t) t2_pos). lra.
Qed.
Lemma sum_shifted (f : Z -> R) M : (forall z, 0 <= f z) ->
  sum (fun z => f (z + Z.of_nat Delta)%Z) (window M) <= sum f (window (M + Delta)).
Proof.
  intros F. unfold window. rewrite !sum_map.
  replace (2 * (M + Delta) + 1)%nat with (2 * Delta + (2 * M + 1))%nat by lia. rewrite (seq_app (2 * Delta)), sum_app.
  assert (0 <= sum (fun i => f (Z.of_nat i - Z.of_nat (M + Delta))%Z) (seq 0 (2 * Delta))) by (apply sum_nonneg; auto).
  assert (K : forall n a, sum (fun i => f (Z.of_nat i - Z.of_nat M + Z.of_nat Delta)%Z) (seq a n) =
                          sum (fun i => f (Z.of_nat i - Z.of_nat (M + Delta))%Z) (seq (2 * Delta + a) n)).
  { induction n as [|n IH]; intros a; [auto|]. cbn [seq sum]. rewrite IH, Nat.add_succ_r. f_equal. f_equal. lia. }
  rewrite K. replace (2 * Delta + 0)%nat with (0 + 2 * Delta)%nat by lia. lra.
Qed.

Lemma up_to_shifted M t fires : up_to M D t fires <= exp (2 * INR Delta / t1) * up_to (M + Delta) D' t fires.
Proof.
  unfold up_to.
  apply Rle_trans with (exp (2 * INR Delta / t1) *
    sum (fun z => dlap t1 (z + Z.of_nat Delta) * given D' (z + Z.of_nat Delta) t fires) (window M)).
  - rewrite <- sum_scal. apply sum_le. intros z _.
    replace (2 * INR Delta / t1) with (INR Delta / t1 + INR Delta / t1) by (field; lra). rewrite exp_plus.
    pose proof (shifted_noise t1 z Delta t1_pos). pose proof (given_shifted z t fires).
    pose proof (dlap_pos t1 z t1_pos). pose proof (given_nonneg D z t fires).
    replace (exp (INR Delta / t1) * exp (INR Delta / t1) * (dlap t1 (z + Z.of_nat Delta) * given D' (z + Z.of_nat Delta) t fires))
      with (exp (INR Delta / t1) * dlap t1 (z + Z.of_nat Delta) * (exp (INR Delta / t1) * given D' (z + Z.of_nat Delta) t fires)) by ring.
    apply Rmult_le_compat; auto; lra.
  - apply Rmult_le_compat_l; [left; apply exp_pos|].
    apply (sum_shifted (fun z => dlap t1 z * given D' z t fires)). intros z.
    apply Rmult_le_pos; [left; apply dlap_pos; auto|apply given_nonneg].
Qed.

(* Whatever the outcome, and whatever tokens and questions came before it: (2 Delta / t1)-DP. *)
Theorem step_46_a_unit t fires p p' : is_chance D t fires p -> is_chance D' t fires p' ->
  p <= exp (2 * INR Delta / t1) * p'.
Proof.
  intros [_ Least] [Upper _]. apply Least. intros x [M ->].
  apply Rle_trans with (1 := up_to_shifted M t fires). apply Rmult_le_compat_l; [left; apply exp_pos|].
  apply Upper. exists (M + Delta)%nat. auto.
Qed.
End Unit.

(* Chances are there, where those of free tokens are at most 1: what is_chance asks for exists. *)
Section Exists.
Context {T : Type}.
Variables (t1 : R) (Theta : Z) (free : list T -> T -> R).
Hypothesis t1_pos : 0 < t1.
Hypothesis free_chance : forall h y, 0 <= free h y <= 1.

Lemma stays_chance D z t : forall h, 0 <= stays t1 Theta free D z h t <= 1.
Proof.
  induction t as [|y t IH]; intros h; simpl; [lra|].
  pose proof (at_least_range (t2 t1) (Theta + z - D h) (t2_pos t1 t1_pos)).
  specialize (IH (h ++ [y])). pose proof (free_chance h y).
  set (a := 1 - at_least (t2 t1) (Theta + z - D h)) in *. assert (0 <= a <= 1) by (unfold a; lra).
  assert (0 <= a * free h y <= 1) by nra.
  set (b := a * free h y) in *. set (c := stays t1 Theta free D z (h ++ [y]) t) in *. nra.
Qed.

Lemma step_46_chances_exist D t fires : exists p, is_chance t1 Theta free D t fires p.
Proof.
  assert (B : bound (fun x => exists M, x = up_to t1 Theta free M D t fires)).
  { exists 1. intros x [M ->]. unfold up_to.
    apply Rle_trans with (sum (dlap t1) (window M)).
    - apply sum_le. intros z _. pose proof (dlap_pos t1 z t1_pos). rewrite <- (Rmult_1_r (dlap t1 z)) at 2.
      apply Rmult_le_compat_l; [lra|]. unfold given. pose proof (stays_chance D z t []).
      destruct fires; [|lra]. pose proof (at_least_range (t2 t1) (Theta + z - D t) (t2_pos t1 t1_pos)). nra.
    - rewrite step_46_noise_is_law by auto.
      pose proof (at_least_range t1 (- Z.of_nat M) t1_pos). pose proof (at_least_range t1 (Z.of_nat M + 1) t1_pos). lra. }
  destruct (completeness _ B) as [p P]; [exists (up_to t1 Theta free 0 D t fires), 0%nat; auto|]. exists p. auto.
Qed.
End Exists.
