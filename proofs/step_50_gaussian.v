(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 50: numbers with discrete Gaussian noise (dp_noise_gaussian) are (|d|^2 / (2 sigma^2))-zCDP where whole numbers d are added to them.
   Noise has infinitely many outcomes: what is said of a sum over them is said of every finite part, whose least bound is the sum. *)
Require Import Reals List Lra Lia ZArith Bool FinFun.
From Cuttle Require Import laws step_46_threshold.
Import ListNotations.
Open Scope R_scope.

(* ---- parts of sums --------------------------------------------------------------------------- *)

Lemma sum_of_part {T} (f : T -> R) l : forall m, NoDup l -> incl l m -> (forall y, In y m -> 0 <= f y) -> sum f l <= sum f m.
Proof.
  induction l as [|a l IH]; intros m N I F.
  - apply sum_nonneg; auto.
  - inversion N; subst. destruct (in_split a m (I a (or_introl eq_refl))) as (before & after & ->).
    rewrite sum_app. simpl. assert (K : sum f l <= sum f (before ++ after)).
    { apply IH; auto.
      - intros y Hy. specialize (I y (or_intror Hy)). apply in_app_iff in I. apply in_app_iff.
        destruct I as [I|[->|I]]; auto. contradiction.
      - intros y Hy. apply F. apply in_app_iff in Hy. apply in_app_iff. simpl. tauto. }
    rewrite sum_app in K. lra.
Qed.

Lemma sum_filter {T} (f : T -> R) b l : sum f (filter b l) = sum (fun y => if b y then f y else 0) l.
Proof. induction l as [|y l IH]; simpl; [auto|]. destruct (b y); simpl; rewrite IH; ring. Qed.

Definition pairs {T U} (l : list T) (m : list U) : list (T * U) := flat_map (fun x => map (pair x) m) l.

Lemma in_pairs {T U} (l : list T) (m : list U) x y : In (x, y) (pairs l m) <-> In x l /\ In y m.
Proof.
  unfold pairs. rewrite in_flat_map. split.
  - intros (a & Ha & H). apply in_map_iff in H. destruct H as (b & [= -> ->] & H). auto.
  - intros [H K]. exists x. split; auto. apply in_map; auto.
Qed.

Lemma nodup_app {T} (l m : list T) : NoDup l -> NoDup m -> (forall x, In x l -> ~ In x m) -> NoDup (l ++ m).
Proof.
  induction 1 as [|x l H N IH]; simpl; intros K D; auto. constructor.
  - rewrite in_app_iff. intros [I|I]; [auto|]. apply (D x); auto.
  - apply IH; auto.
Qed.

Lemma pairs_nodup {T U} (l : list T) (m : list U) : NoDup l -> NoDup m -> NoDup (pairs l m).
Proof.
  intros N K. induction N as [|x l H N IH]; [constructor|]. apply nodup_app; auto.
  - apply Injective_map_NoDup; auto. intros a b [=]; auto.
  - intros (a, b) I J. apply in_map_iff in I. destruct I as (y & [= -> ->] & _). apply in_pairs in J. tauto.
Qed.

Lemma sum_pairs {T U} (f : T -> U -> R) l m : sum (fun p => f (fst p) (snd p)) (pairs l m) = sum (fun x => sum (f x) m) l.
Proof. unfold pairs. rewrite sum_flat_map. apply sum_ext. intros x _. rewrite sum_map. auto. Qed.

Lemma in_window M z : In z (window M) <-> (Z.abs z <= Z.of_nat M)%Z.
Proof.
  unfold window. rewrite in_map_iff. split.
  - intros (i & <- & H). apply in_seq in H. lia.
  - intros H. exists (Z.to_nat (z + Z.of_nat M)). split; [lia|]. apply in_seq. lia.
Qed.

Lemma window_nodup M : NoDup (window M).
Proof. apply Injective_map_NoDup; [intros a b; lia|apply seq_NoDup]. Qed.

Lemma all_in_a_window (l : list Z) : exists M, incl l (window M).
Proof.
  induction l as [|z l [M IH]]; [exists 0%nat; intros y []|].
  exists (M + Z.to_nat (Z.abs z))%nat. intros y [<-|Hy]; [apply in_window; lia|].
  specialize (IH y Hy). rewrite in_window in *. lia.
Qed.

(* Pairs of whole numbers, turned: their sum and difference are both even or both odd. *)
Definition turn (p : Z * Z) : Z * Z := (fst p + snd p, fst p - snd p)%Z.
Definition one_parity (p : Z * Z) : bool := eqb (Z.even (fst p)) (Z.even (snd p)).

Lemma turn_injective : Injective turn.
Proof. intros (a, b) (c, d) [= H K]. f_equal; lia. Qed.

Lemma turned_have_one_parity p : one_parity (turn p) = true.
Proof.
  destruct p as (x, y). unfold one_parity, turn. simpl. apply eqb_true_iff.
  replace (x + y)%Z with (x - y + 2 * y)%Z by ring. rewrite Z.even_add, Z.even_mul. simpl. destruct (Z.even (x - y)); auto.
Qed.

Lemma one_parity_is_turned s d : one_parity (s, d) = true -> exists x y, (s, d) = turn (x, y) /\ (2 * x = s + d)%Z /\ (2 * y = s - d)%Z.
Proof.
  intros H. apply eqb_prop in H. simpl in H.
  assert (E : Z.even (s + d) = true) by (rewrite Z.even_add, H; destruct (Z.even d); auto).
  apply Z.even_spec in E. destruct E as [x E]. exists x, (s - x)%Z. unfold turn. cbn [fst snd]. split; [f_equal; lia|lia].
Qed.

Lemma pairs_turn (F : Z -> Z -> R) M : (forall s d, 0 <= F s d) ->
  sum (fun x => sum (fun y => F (x + y)%Z (x - y)%Z) (window M)) (window M) <=
  sum (fun p => if one_parity p then F (fst p) (snd p) else 0) (pairs (window (2 * M)) (window (2 * M))).
Proof.
  intros H. rewrite <- (sum_pairs (fun x y => F (x + y)%Z (x - y)%Z)), <- sum_filter.
  rewrite <- (sum_map (fun p => F (fst p) (snd p)) turn). apply sum_of_part; auto.
  - apply Injective_map_NoDup; [apply turn_injective|]. apply pairs_nodup; apply window_nodup.
  - intros q Hq. apply in_map_iff in Hq. destruct Hq as ((x, y) & <- & Hq). apply in_pairs in Hq.
    apply filter_In. split; [|apply turned_have_one_parity]. unfold turn. simpl. rewrite in_pairs, !in_window in *. lia.
Qed.

Lemma pairs_turn_back (F : Z -> Z -> R) M : (forall s d, 0 <= F s d) ->
  sum (fun p => if one_parity p then F (fst p) (snd p) else 0) (pairs (window M) (window M)) <=
  sum (fun x => sum (fun y => F (x + y)%Z (x - y)%Z) (window M)) (window M).
Proof.
  intros H. rewrite <- (sum_pairs (fun x y => F (x + y)%Z (x - y)%Z)), <- sum_filter.
  rewrite <- (sum_map (fun p => F (fst p) (snd p)) turn). apply sum_of_part; auto.
  - apply NoDup_filter, pairs_nodup; apply window_nodup.
  - intros (s, d) Hq. apply filter_In in Hq. destruct Hq as [I A].
    destruct (one_parity_is_turned s d A) as (x & y & -> & X & Y). apply in_map. rewrite in_pairs, !in_window in *. lia.
Qed.

(* 2 u v <= u^2 + v^2, for the sums over even and over odd numbers. *)
Lemma parity_products (u v : Z -> R) (l m : list Z) :
  let part (w : Z -> R) b k := sum (fun z => if eqb b (Z.even z) then w z else 0) k in
  sum (fun p => if one_parity p then u (fst p) * v (snd p) else 0) (pairs l m) =
  part u true l * part v true m + part u false l * part v false m.
Proof.
  intros part. rewrite (sum_pairs (fun s d => if one_parity (s, d) then u s * v d else 0)).
  assert (One : forall s, sum (fun d => if one_parity (s, d) then u s * v d else 0) m = u s * part v (Z.even s) m).
  { intros s. unfold part. rewrite <- sum_scal. apply sum_ext. intros d _. unfold one_parity. simpl.
    destruct (eqb (Z.even s) (Z.even d)); ring. }
  induction l as [|s l IH]; [unfold part; simpl; ring|].
  assert (Split : forall w b, part w b (s :: l) = (if eqb b (Z.even s) then w s else 0) + part w b l) by auto.
  cbn [sum]. rewrite One, IH, !Split. destruct (Z.even s); cbn; ring.
Qed.

Lemma parity_products_halved (u v : Z -> R) l :
  sum (fun p => if one_parity p then u (fst p) * v (snd p) else 0) (pairs l l) <=
  / 2 * (sum (fun p => if one_parity p then u (fst p) * u (snd p) else 0) (pairs l l) +
         sum (fun p => if one_parity p then v (fst p) * v (snd p) else 0) (pairs l l)).
Proof.
  rewrite !parity_products. cbv zeta.
  set (a := sum _ _). set (b := sum _ _). set (c := sum _ _). set (d := sum _ _).
  pose proof (pow2_ge_0 (a - b)). pose proof (pow2_ge_0 (c - d)). nra.
Qed.

(* ---- the law of noise ------------------------------------------------------------------------ *)

Section Gaussian.
(* sigma^2 *)
Variable s2 : R.
Hypothesis s2_pos : 0 < s2.

Definition bell (c : R) (x : Z) : R := exp (- (IZR x - c) ^ 2 / (2 * s2)).

Lemma bell_pos c x : 0 < bell c x.
Proof. apply exp_pos. Qed.

Lemma bells_are_bounded : exists most, forall c M, sum (bell c) (window M) <= most.
Proof.
  set (t := 4 * s2). assert (t0 : 0 < t) by (unfold t; lra).
  pose proof (decay_range t t0) as D. set (r := decay t) in *.
  exists (exp (1 / (2 * s2)) * ((1 + r) / (1 - r))). intros c M.
  set (n := up c). destruct (archimed c) as [Up Near]. fold n in Up, Near.
  apply Rle_trans with (sum (fun x => exp (1 / (2 * s2)) * ((1 + r) / (1 - r)) * dlap t (x - n)) (window M)).
  - apply sum_le. intros x _. unfold dlap. fold r. set (k := Z.to_nat (Z.abs (x - n))).
    assert (P : r ^ k = exp (- (INR k / t))).
    { pose proof (decay_power t k t0) as P. fold r in P. rewrite exp_Ropp. pose proof (exp_pos (INR k / t)).
      apply Rmult_eq_reg_l with (exp (INR k / t)); [|lra]. rewrite P. field. lra. }
    rewrite P. replace (exp (1 / (2 * s2)) * ((1 + r) / (1 - r)) * ((1 - r) / (1 + r) * exp (- (INR k / t))))
      with (exp (1 / (2 * s2)) * exp (- (INR k / t))) by (field; lra).
    rewrite <- exp_plus. apply exp_le.
    assert (K : INR k <= (IZR x - IZR n) ^ 2).
    { rewrite INR_IZR_INZ, <- minus_IZR, pow_IZR. apply IZR_le. unfold k. rewrite Z2Nat.id by lia. simpl. nia. }
    assert (Sq : (IZR x - IZR n) ^ 2 / 2 - 1 <= (IZR x - c) ^ 2).
    { set (a := IZR x - IZR n). replace (IZR x - c) with (a + (IZR n - c)) by (unfold a; ring).
      set (b := IZR n - c). assert (b ^ 2 <= 1) by (unfold b; nra). pose proof (pow2_ge_0 (a + 2 * b)). nra. }
    apply Rmult_le_reg_r with (2 * s2); [lra|].
    replace (- (IZR x - c) ^ 2 / (2 * s2) * (2 * s2)) with (- (IZR x - c) ^ 2) by (field; lra).
    replace ((1 / (2 * s2) + - (INR k / t)) * (2 * s2)) with (1 - INR k / 2) by (unfold t; field; lra). lra.
  - rewrite sum_scal.
    assert (One : sum (fun x => dlap t (x - n)) (window M) <= 1).
    { rewrite <- (sum_map (dlap t) (fun x => (x - n)%Z)).
      apply Rle_trans with (sum (dlap t) (window (M + Z.to_nat (Z.abs n)))).
      - apply sum_of_part.
        + apply Injective_map_NoDup; [intros a b; lia|apply window_nodup].
        + intros z Hz. apply in_map_iff in Hz. destruct Hz as (x & <- & Hx). rewrite in_window in *. lia.
        + intros z _. apply Rlt_le, dlap_pos; auto.
      - rewrite step_46_noise_is_law by auto.
        pose proof (at_least_range t (- Z.of_nat (M + Z.to_nat (Z.abs n))) t0).
        pose proof (at_least_range t (Z.of_nat (M + Z.to_nat (Z.abs n)) + 1) t0). lra. }
    assert (0 < exp (1 / (2 * s2)) * ((1 + r) / (1 - r))).
    { apply Rmult_lt_0_compat; [apply exp_pos|]. apply Rdiv_lt_0_compat; lra. }
    rewrite <- (Rmult_1_r (exp (1 / (2 * s2)) * ((1 + r) / (1 - r)))) at 2. apply Rmult_le_compat_l; lra.
Qed.

Lemma a_square_of_sums c M :
  sum (bell c) (window M) ^ 2 <=
  / 2 * (sum (bell (2 * c)) (window (2 * M)) * sum (bell 0) (window (2 * M)) + sum (bell 0) (window (2 * M)) ^ 2).
Proof.
  set (half := fun (c : R) (s : Z) => exp (- (IZR s - c) ^ 2 / (4 * s2))).
  assert (pos : forall c d s t, 0 <= half c s * half d t) by (intros; apply Rlt_le, Rmult_lt_0_compat; apply exp_pos).
  assert (turned : forall c x y, half (2 * c) (x + y)%Z * half 0 (x - y)%Z = bell c x * bell c y).
  { intros a x y. unfold half, bell. rewrite <- !exp_plus, plus_IZR, minus_IZR. f_equal. field. lra. }
  assert (back : forall c x y, half c (x + y)%Z * half c (x - y)%Z = bell c x * bell 0 y).
  { intros a x y. unfold half, bell. rewrite <- !exp_plus, plus_IZR, minus_IZR. f_equal. field. lra. }
  assert (products : forall (f g : Z -> R) l m, sum (fun x => sum (fun y => f x * g y) m) l = sum f l * sum g m).
  { intros f g l m. rewrite <- sum_scal_r. apply sum_ext. intros x _. apply sum_scal. }
  replace (sum (bell c) (window M) ^ 2) with (sum (bell c) (window M) * sum (bell c) (window M)) by ring.
  rewrite <- products.
  rewrite (sum_ext _ (fun x => sum (fun y => half (2 * c) (x + y)%Z * half 0 (x - y)%Z) (window M)))
    by (intros; apply sum_ext; intros; auto).
  eapply Rle_trans; [apply (pairs_turn (fun s d => half (2 * c) s * half 0 d)); auto|].
  eapply Rle_trans; [apply parity_products_halved|]. apply Rmult_le_compat_l; [lra|]. apply Rplus_le_compat.
  - eapply Rle_trans; [apply (pairs_turn_back (fun s d => half (2 * c) s * half (2 * c) d)); auto|].
    rewrite <- products. right. apply sum_ext; intros; apply sum_ext; intros; auto.
  - eapply Rle_trans; [apply (pairs_turn_back (fun s d => half 0 s * half 0 d)); auto|].
    replace (sum (bell 0) (window (2 * M)) ^ 2) with (sum (bell 0) (window (2 * M)) * sum (bell 0) (window (2 * M))) by ring.
    rewrite <- products. right. apply sum_ext; intros; apply sum_ext; intros; auto.
Qed.

(* The sum over all whole numbers, which makes the law's chances add up to 1. *)
Definition is_whole (w : R) : Prop := is_lub (fun v => exists M, v = sum (bell 0) (window M)) w.

Lemma step_50_whole_exists : exists w, is_whole w.
Proof.
  destruct bells_are_bounded as [most H].
  destruct (completeness (fun v => exists M, v = sum (bell 0) (window M))) as [w W].
  - exists most. intros v [M ->]. auto.
  - exists (sum (bell 0) (window 0)), 0%nat. auto.
  - exists w. auto.
Qed.

Variable w : R.
Hypothesis w_whole : is_whole w.

Lemma w_pos : 0 < w.
Proof.
  apply Rlt_le_trans with (sum (bell 0) (window 0)); [|apply (proj1 w_whole); exists 0%nat; auto].
  apply sum_pos with 0%Z; [apply in_window; simpl; lia|]. intros; apply bell_pos.
Qed.

(* Around no number, whole or not, is the sum larger than around 0. *)
Theorem step_50_whole_is_largest c l : NoDup l -> sum (bell c) l <= w.
Proof.
  intros N. destruct bells_are_bounded as [most H].
  destruct (completeness (fun v => exists c M, v = sum (bell c) (window M))) as [s [Upper Least]].
  { exists most. intros v (d & M & ->). auto. }
  { exists (sum (bell 0) (window 0)), 0, 0%nat. auto. }
  pose proof w_pos as w0.
  assert (Ws : w <= s) by (apply (proj2 w_whole); intros v [M ->]; apply Upper; eauto).
  assert (Square : forall d M, sum (bell d) (window M) ^ 2 <= / 2 * (s * w + w ^ 2)).
  { intros d M. apply Rle_trans with (1 := a_square_of_sums d M).
    assert (A : sum (bell (2 * d)) (window (2 * M)) <= s) by (apply Upper; eauto).
    assert (B : sum (bell 0) (window (2 * M)) <= w) by (apply (proj1 w_whole); eauto).
    assert (0 <= sum (bell (2 * d)) (window (2 * M))) by (apply sum_nonneg; intros; apply Rlt_le, bell_pos).
    assert (0 <= sum (bell 0) (window (2 * M))) by (apply sum_nonneg; intros; apply Rlt_le, bell_pos).
    apply Rmult_le_compat_l; [lra|]. apply Rplus_le_compat; [apply Rmult_le_compat; auto|apply pow_incr; auto]. }
  set (root := sqrt (/ 2 * (s * w + w ^ 2))).
  assert (pos : 0 <= / 2 * (s * w + w ^ 2)) by (assert (0 <= s * w) by nra; nra).
  assert (S : s <= root).
  { apply Least. intros v (d & M & ->). unfold root. rewrite <- (sqrt_pow2 (sum (bell d) (window M))).
    - apply sqrt_le_1; auto. apply pow2_ge_0.
    - apply sum_nonneg; intros; apply Rlt_le, bell_pos. }
  assert (S2 : s * s <= / 2 * (s * w + w ^ 2)).
  { rewrite <- (sqrt_sqrt (/ 2 * (s * w + w ^ 2))) by auto. fold root. apply Rmult_le_compat; lra. }
  assert (s <= w).
  { destruct (Rle_lt_dec s w) as [|G]; auto. exfalso. assert (K : 0 < (2 * s + w) * (s - w)) by (apply Rmult_lt_0_compat; lra).
    replace ((2 * s + w) * (s - w)) with (2 * (s * s) - s * w - w ^ 2) in K by ring. lra. }
  destruct (all_in_a_window l) as [M I]. apply Rle_trans with (sum (bell c) (window M)).
  - apply sum_of_part; auto. intros; apply Rlt_le, bell_pos.
  - apply Rle_trans with s; auto. apply Upper; eauto.
Qed.

(* The number n with noise. *)
Definition gauss (n x : Z) : R := bell (IZR n) x / w.

Lemma gauss_pos n x : 0 < gauss n x.
Proof. apply Rdiv_lt_0_compat; [apply bell_pos|apply w_pos]. Qed.

Lemma step_50_is_law n : is_lub (fun v => exists l, NoDup l /\ v = sum (gauss n) l) 1.
Proof.
  pose proof w_pos. assert (div : forall l, sum (gauss n) l * w = sum (bell (IZR n)) l).
  { intros l. unfold gauss. rewrite sum_div. field. lra. }
  split.
  - intros v (l & N & ->). apply Rmult_le_reg_r with w; auto. rewrite div, Rmult_1_l. apply step_50_whole_is_largest; auto.
  - intros b Hb. apply Rmult_le_reg_r with w; auto. rewrite Rmult_1_l. apply (proj2 w_whole). intros v [M ->].
    replace (sum (bell 0) (window M)) with (sum (bell (IZR n)) (map (fun x => (x + n)%Z) (window M))).
    + rewrite <- div. apply Rmult_le_compat_r; [lra|]. apply Hb. eexists. split; [|reflexivity].
      apply Injective_map_NoDup; [intros x y; lia|apply window_nodup].
    + rewrite sum_map. apply sum_ext. intros x _. unfold bell. rewrite plus_IZR. do 3 f_equal. ring.
Qed.

Theorem step_50_one_number a b l : NoDup l -> zcdp l (IZR (a - b) ^ 2 / (2 * s2)) (gauss a) (gauss b).
Proof.
  intros N alpha Ha. pose proof w_pos as w0. unfold renyi, moment.
  set (m := IZR (a - b)). set (e := (alpha - 1) * (alpha * (m ^ 2 / (2 * s2)))).
  rewrite (sum_ext _ (fun x => exp e / w * bell (IZR b + alpha * m) x)).
  - rewrite sum_scal. pose proof (step_50_whole_is_largest (IZR b + alpha * m) l N). pose proof (exp_pos e).
    apply Rle_trans with (exp e / w * w); [|right; field; lra].
    apply Rmult_le_compat_l; auto. apply Rlt_le, Rdiv_lt_0_compat; auto.
  - intros x _. unfold loss, gauss, bell.
    set (p := - (IZR x - IZR a) ^ 2 / (2 * s2)). set (q := - (IZR x - IZR b) ^ 2 / (2 * s2)).
    replace (exp p / w / (exp q / w)) with (exp (p - q)).
    + rewrite ln_exp. transitivity (exp (q + alpha * (p - q)) / w); [rewrite exp_plus; field; lra|].
      unfold Rdiv. rewrite (Rmult_comm (exp e * / w)), <- Rmult_assoc, <- exp_plus. f_equal. f_equal.
      unfold p, q, e, m. rewrite minus_IZR. field. lra.
    + unfold Rminus. rewrite exp_plus, exp_Ropp. pose proof (exp_pos q). field. lra.
Qed.

(* Several numbers, each with noise of its own; n is a list's number to its value. *)
Fixpoint noisy_all (n : nat -> Z) (x : list Z) : R :=
  match x with
  | [] => 1
  | z :: x => gauss (n 0%nat) z * noisy_all (fun j => n (S j)) x
  end.

(* |q|^2 of the first d numbers. *)
Fixpoint square (d : nat) (q : nat -> Z) : Z :=
  match d with
  | O => 0
  | S d => q 0%nat ^ 2 + square d (fun j => q (S j))
  end.

Fixpoint answers (d M : nat) : list (list Z) :=
  match d with
  | O => [[]]
  | S d => flat_map (fun z => map (cons z) (answers d M)) (window M)
  end.

Lemma noisy_all_pos n x : 0 < noisy_all n x.
Proof. revert n; induction x as [|z x IH]; intros n; simpl; [lra|]. apply Rmult_lt_0_compat; auto using gauss_pos. Qed.

Lemma all_in_answers d : forall l : list (list Z), (forall x, In x l -> length x = d) -> exists M, incl l (answers d M).
Proof.
  assert (more : forall d M M' x, (M <= M')%nat -> In x (answers d M) -> In x (answers d M')).
  { clear. induction d as [|d IH]; intros M M' x L H; simpl in *; auto. apply in_flat_map in H. apply in_flat_map.
    destruct H as (z & Hz & H). exists z. split; [rewrite in_window in *; lia|]. apply in_map_iff in H. apply in_map_iff.
    destruct H as (y & <- & H). exists y. split; auto. apply IH with M; auto. }
  assert (one : forall d x, length x = d -> exists M, In x (answers d M)).
  { clear - more. induction d as [|d IH]; intros [|z x] L; try discriminate; [exists 0%nat; simpl; auto|].
    destruct (IH x ltac:(simpl in L; congruence)) as [M H]. exists (M + Z.to_nat (Z.abs z))%nat. simpl. apply in_flat_map. exists z.
    split; [apply in_window; lia|]. apply in_map. apply more with M; auto. lia. }
  induction l as [|x l IH]; intros L; [exists 0%nat; intros y []|].
  destruct (one d x) as [M H]; [apply L; simpl; auto|]. destruct IH as [M' H']; [intros; apply L; simpl; auto|].
  exists (M + M')%nat. intros y [<-|Hy]; [apply more with M; auto; lia|]. apply more with M'; auto. lia.
Qed.

Theorem step_50_answers d a b l : NoDup l -> (forall x, In x l -> length x = d) ->
  zcdp l (IZR (square d (fun j => a j - b j)%Z) / (2 * s2)) (noisy_all a) (noisy_all b).
Proof.
  intros N L alpha Ha. destruct (all_in_answers d l L) as [M I].
  apply Rle_trans with (moment (answers d M) alpha (noisy_all a) (noisy_all b)).
  { apply sum_of_part; auto. intros; apply Rlt_le, Rmult_lt_0_compat; [apply noisy_all_pos|apply exp_pos]. }
  clear N L I l. revert a b. induction d as [|d IH]; intros a b.
  - unfold moment, loss. simpl. replace (1 / 1) with 1 by field. rewrite ln_1, Rmult_0_r, exp_0.
    replace ((alpha - 1) * (alpha * (0 / (2 * s2)))) with 0 by (field; lra). rewrite exp_0. lra.
  - unfold moment. simpl answers. rewrite sum_flat_map.
    set (rest := moment (answers d M) alpha (noisy_all (fun j => a (S j))) (noisy_all (fun j => b (S j)))).
    rewrite (sum_ext _ (fun z => gauss (b 0%nat) z * exp (alpha * loss (gauss (a 0%nat)) (gauss (b 0%nat)) z) * rest)).
    + rewrite sum_scal_r. fold (moment (window M) alpha (gauss (a 0%nat)) (gauss (b 0%nat))).
      set (q := square d (fun j => a (S j) - b (S j))%Z).
      apply Rle_trans with (exp ((alpha - 1) * (alpha * (IZR (a 0%nat - b 0%nat) ^ 2 / (2 * s2)))) *
                            exp ((alpha - 1) * (alpha * (IZR q / (2 * s2))))).
      * apply Rmult_le_compat.
        -- apply sum_nonneg; intros; apply Rlt_le, Rmult_lt_0_compat; [apply gauss_pos|apply exp_pos].
        -- apply sum_nonneg; intros; apply Rlt_le, Rmult_lt_0_compat; [apply noisy_all_pos|apply exp_pos].
        -- apply step_50_one_number; auto using window_nodup.
        -- apply IH.
      * rewrite <- exp_plus. right. f_equal. cbn [square]. fold q.
        assert (P : IZR ((a 0%nat - b 0%nat) ^ 2) = IZR (a 0%nat - b 0%nat) ^ 2) by (rewrite pow_IZR; auto).
        rewrite plus_IZR, P. field. lra.
    + intros z _. unfold rest, moment. rewrite sum_map, <- sum_scal. apply sum_ext. intros x _. unfold loss. simpl noisy_all.
      pose proof (gauss_pos (a 0%nat) z). pose proof (gauss_pos (b 0%nat) z).
      pose proof (noisy_all_pos (fun j => a (S j)) x). pose proof (noisy_all_pos (fun j => b (S j)) x).
      replace (gauss (a 0%nat) z * noisy_all (fun j => a (S j)) x / (gauss (b 0%nat) z * noisy_all (fun j => b (S j)) x))
        with (gauss (a 0%nat) z / gauss (b 0%nat) z * (noisy_all (fun j => a (S j)) x / noisy_all (fun j => b (S j)) x)) by (field; lra).
      rewrite ln_mult by (apply Rdiv_lt_0_compat; auto). rewrite Rmult_plus_distr_l, exp_plus. ring.
Qed.

Lemma step_50_answers_are_law d n l : NoDup l -> (forall x, In x l -> length x = d) -> sum (noisy_all n) l <= 1.
Proof.
  intros N L. assert (Two : 1 < 2) by lra. pose proof (step_50_answers d n n l N L 2 Two) as H. unfold renyi, moment in H.
  assert (Z : forall m (q : nat -> Z), square m (fun j => q j - q j)%Z = 0%Z).
  { induction m as [|m IH]; intros q; cbn [square]; auto. rewrite (IH (fun j => q (S j))), Z.sub_diag. auto. }
  rewrite Z in H. replace ((2 - 1) * (2 * (0 / (2 * s2)))) with 0 in H by (field; lra). rewrite exp_0 in H.
  apply Rle_trans with (2 := H). right. apply sum_ext. intros x _. unfold loss. pose proof (noisy_all_pos n x).
  replace (noisy_all n x / noisy_all n x) with 1 by (field; lra). rewrite ln_1, Rmult_0_r, exp_0. ring.
Qed.
End Gaussian.
