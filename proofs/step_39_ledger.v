(* SPDX-License-Identifier: Apache-2.0 *)
(* Steps 19 and 39: a ledger that is charged (epsilon, delta), chosen after all earlier outputs, and refuses what would go over E or D, keeps to both.
   ledger_reserve is the filter: what it refuses has one law in both worlds and costs nothing; rho and Renyi losses at one order likewise. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws transcripts step_08_composition step_39_lots.
Import ListNotations.
Open Scope R_scope.

(* What (epsilon, delta) says of events, it says of a number between 0 and 1 that follows from the output: of one more coin. *)
Lemma step_39_of_a_coin {T} (l : list T) eps delta P Q f : (forall y, In y l -> 0 <= f y <= 1) ->
  eps_delta l eps delta P Q -> sum (fun y => P y * f y) l <= exp eps * sum (fun y => Q y * f y) l + delta.
Proof.
  intros F H. apply step_39_hockey_stick in H. unfold hockey_stick in H.
  apply Rle_trans with (exp eps * sum (fun y => Q y * f y) l + sum (fun y => Rmax 0 (P y - exp eps * Q y)) l); [|lra].
  rewrite <- sum_scal, <- sum_plus. apply sum_le. intros y Hy. specialize (F y Hy).
  pose proof (Rmax_l 0 (P y - exp eps * Q y)). pose proof (Rmax_r 0 (P y - exp eps * Q y)).
  assert (K : (P y - exp eps * Q y) * f y <= Rmax 0 (P y - exp eps * Q y) * f y) by (apply Rmult_le_compat_r; lra).
  assert (Rmax 0 (P y - exp eps * Q y) * f y <= Rmax 0 (P y - exp eps * Q y) * 1) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Section Runs.
Context {Output : Type}.
(* What a run may write, and its law in both worlds: all follow from the outputs before it. *)
Variable possible : list Output -> list Output.
Variables P Q : list Output -> Output -> R.
Hypothesis P_laws : laws possible P.
Hypothesis Q_laws : laws possible Q.

Lemma chance_of_next W n h (event : list Output -> bool) : sum (fun t => if event t then joint W h t else 0) (transcripts possible (S n) h) =
  sum (fun y => W h y * chance (transcripts possible n (h ++ [y])) (joint W (h ++ [y])) (fun t => event (y :: t))) (possible h).
Proof.
  simpl transcripts. rewrite sum_flat_map. apply sum_ext. intros y _. rewrite sum_map. unfold chance. rewrite <- sum_scal.
  apply sum_ext. intros t _. simpl. destruct (event (y :: t)); ring.
Qed.

Section Charged.
Variables eps delta : list Output -> R.
Hypothesis delta_nonneg : forall h, 0 <= delta h.
Hypothesis run : forall h, eps_delta (possible h) (eps h) (delta h) (P h) (Q h).

Lemma spent_nonneg h t : 0 <= spent delta h t.
Proof. revert h. induction t as [|y t IH]; intros h; simpl; [lra|]. specialize (IH (h ++ [y])). specialize (delta_nonneg h). lra. Qed.

(* Runs follow each other, each charged as the outputs before it say, where no course of events spends more than E and D. *)
Theorem step_39_epsilons_add_up n : forall h E D,
  (forall t, In t (transcripts possible n h) -> spent eps h t <= E /\ spent delta h t <= D) ->
  eps_delta (transcripts possible n h) E D (joint P h) (joint Q h).
Proof.
  induction n as [|n IH]; intros h E D B event.
  - destruct (B [] ltac:(simpl; auto)) as [Be Bd]. simpl in Be, Bd. unfold chance. simpl.
    assert (1 <= exp E) by (rewrite <- exp_0; apply exp_le; auto). destruct (event []); lra.
  - unfold chance. rewrite !chance_of_next.
    set (p := fun y => chance (transcripts possible n (h ++ [y])) (joint P (h ++ [y])) (fun t => event (y :: t))).
    set (q := fun y => chance (transcripts possible n (h ++ [y])) (joint Q (h ++ [y])) (fun t => event (y :: t))).
    set (f := fun y => Rmin 1 (exp (E - eps h) * q y)).
    assert (Left : forall y, In y (possible h) -> p y <= f y + (D - delta h) /\ 0 <= f y <= 1).
    { intros y Hy.
      assert (Range : 0 <= p y <= 1 /\ 0 <= q y <= 1).
      { split; apply chance_range; apply joint_is_law; auto. }
      assert (Tail : forall t, In t (transcripts possible n (h ++ [y])) ->
        spent eps (h ++ [y]) t <= E - eps h /\ spent delta (h ++ [y]) t <= D - delta h).
      { intros t Ht. destruct (B (y :: t) (transcripts_cons possible n h y t Hy Ht)) as [Be Bd]. simpl in Be, Bd. lra. }
      assert (Rest : 0 <= D - delta h).
      { destruct (law_has_a_point _ _ (joint_is_law possible P n (h ++ [y]) P_laws)) as [t Ht].
        destruct (Tail t Ht) as [_ Bd]. pose proof (spent_nonneg (h ++ [y]) t). lra. }
      pose proof (IH (h ++ [y]) (E - eps h) (D - delta h) Tail (fun t => event (y :: t))) as K. fold (p y) (q y) in K.
      assert (0 <= exp (E - eps h) * q y) by (apply Rmult_le_pos; [apply Rlt_le, exp_pos|lra]).
      unfold f. split; [|split; [apply Rmin_glb; lra|apply Rmin_l]].
      unfold Rmin. destruct (Rle_dec 1 (exp (E - eps h) * q y)); lra. }
    apply Rle_trans with (sum (fun y => P h y * f y) (possible h) + (D - delta h)).
    + rewrite <- (Rmult_1_r (D - delta h)), <- (proj2 (P_laws h)), <- sum_scal, <- sum_plus. apply sum_le. intros y Hy.
      pose proof (proj1 (P_laws h) y Hy). destruct (Left y Hy) as [L _].
      change (P h y * p y <= P h y * f y + (D - delta h) * P h y).
      apply Rle_trans with (P h y * (f y + (D - delta h))); [apply Rmult_le_compat_l; lra|right; ring].
    + pose proof (step_39_of_a_coin (possible h) (eps h) (delta h) (P h) (Q h) f (fun y Hy => proj2 (Left y Hy)) (run h)) as C.
      assert (K : exp (eps h) * sum (fun y => Q h y * f y) (possible h) <= exp E * sum (fun y => Q h y * q y) (possible h)).
      { rewrite <- !sum_scal. apply sum_le. intros y Hy. pose proof (proj1 (Q_laws h) y Hy).
        assert (X : exp E = exp (eps h) * exp (E - eps h)) by (rewrite <- exp_plus; f_equal; ring).
        rewrite X. pose proof (exp_pos (eps h)).
        assert (f y <= exp (E - eps h) * q y) by apply Rmin_r.
        replace (exp (eps h) * exp (E - eps h) * (Q h y * q y)) with (exp (eps h) * (Q h y * (exp (E - eps h) * q y))) by ring.
        apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
      change (sum (fun y => P h y * f y) (possible h) + (D - delta h) <= exp E * sum (fun y => Q h y * q y) (possible h) + D).
      lra.
Qed.
End Charged.

(* The filter. What is asked for may be anything; what goes over a limit is refused, and later runs may still be charged. *)
Variables eps delta : list Output -> R.
Variables E D : R.

Definition fits (paid : R * R) : bool :=
  if Rle_dec (fst paid) E then if Rle_dec (snd paid) D then true else false else false.
Definition with_charge (paid : R * R) (h : list Output) : R * R := (fst paid + eps h, snd paid + delta h).

(* What is paid once `outputs` stand behind h, of which `paid` was paid. *)
Fixpoint paid_by (paid : R * R) (h outputs : list Output) : R * R :=
  match outputs with
  | [] => paid
  | y :: rest => paid_by (if fits (with_charge paid h) then with_charge paid h else paid) (h ++ [y]) rest
  end.
Definition granted (h : list Output) : bool := fits (with_charge (paid_by (0, 0) [] h) h).
Definition charged_eps (h : list Output) : R := if granted h then eps h else 0.
Definition charged_delta (h : list Output) : R := if granted h then delta h else 0.

Lemma paid_by_app outputs : forall more paid h,
  paid_by paid h (outputs ++ more) = paid_by (paid_by paid h outputs) (h ++ outputs) more.
Proof.
  induction outputs as [|y m IH]; intros more paid h; simpl; [rewrite app_nil_r; auto|].
  rewrite IH, <- app_assoc. auto.
Qed.

(* What the ledger has added up is what was charged. *)
Lemma paid_is_spent t : forall h,
  paid_by (paid_by (0, 0) [] h) h t =
  (fst (paid_by (0, 0) [] h) + spent charged_eps h t, snd (paid_by (0, 0) [] h) + spent charged_delta h t).
Proof.
  induction t as [|y t IH]; intros h; simpl; [rewrite !Rplus_0_r; destruct (paid_by (0, 0) [] h); auto|].
  assert (N : paid_by (0, 0) [] (h ++ [y]) = if granted h then with_charge (paid_by (0, 0) [] h) h else paid_by (0, 0) [] h)
    by (rewrite paid_by_app; simpl; auto).
  fold (granted h). rewrite <- N, IH, N. unfold charged_eps at 2, charged_delta at 2, with_charge.
  destruct (granted h); simpl; f_equal; ring.
Qed.

Lemma paid_fits outputs : forall paid h, fits paid = true -> fits (paid_by paid h outputs) = true.
Proof.
  induction outputs as [|y m IH]; intros paid h F; simpl; auto. apply IH.
  destruct (fits (with_charge paid h)) eqn:G; auto.
Qed.

Lemma step_39_within t : 0 <= E -> 0 <= D -> spent charged_eps [] t <= E /\ spent charged_delta [] t <= D.
Proof.
  intros HE HD. pose proof (paid_is_spent t []) as S. simpl in S. rewrite !Rplus_0_l in S.
  assert (F : fits (paid_by (0, 0) [] t) = true).
  { apply paid_fits. unfold fits; simpl. destruct (Rle_dec 0 E); [destruct (Rle_dec 0 D)|]; auto; lra. }
  rewrite S in F. unfold fits in F; simpl in F.
  destruct (Rle_dec (spent charged_eps [] t) E); [destruct (Rle_dec (spent charged_delta [] t) D)|]; auto; discriminate.
Qed.

(* A run that is refused writes nothing that the records say. *)
Hypothesis refused : forall h y, granted h = false -> In y (possible h) -> P h y = Q h y.

Theorem step_39_filter n : 0 <= E -> 0 <= D -> (forall h, 0 <= delta h) ->
  (forall h, granted h = true -> eps_delta (possible h) (eps h) (delta h) (P h) (Q h)) ->
  eps_delta (transcripts possible n []) E D (joint P []) (joint Q []).
Proof.
  intros HE HD N K. apply step_39_epsilons_add_up with (eps := charged_eps) (delta := charged_delta).
  - intros h. unfold charged_delta. destruct (granted h); [auto|lra].
  - intros h. unfold charged_eps, charged_delta. destruct (granted h) eqn:G; auto.
    intros event. rewrite exp_0. right. rewrite Rmult_1_l, Rplus_0_r. apply sum_ext. intros y Hy.
    rewrite (refused h y G Hy). auto.
  - intros t _. apply step_39_within; auto.
Qed.

(* Where eps is a Renyi loss at one order, or rho, and nothing else is counted. *)
Lemma equal_where_refused alpha h : granted h = false -> renyi (possible h) alpha 0 (P h) (Q h).
Proof.
  intros G. unfold renyi, moment. rewrite Rmult_0_r, exp_0. right.
  transitivity (sum (Q h) (possible h)); [|apply Q_laws]. apply sum_ext. intros y Hy. unfold loss.
  rewrite (refused h y G Hy). pose proof (proj1 (Q_laws h) y Hy). replace (Q h y / Q h y) with 1 by (field; lra).
  rewrite ln_1, Rmult_0_r, exp_0. ring.
Qed.

Theorem step_19_filter_at_one_order alpha n : 1 < alpha -> 0 <= E -> 0 <= D ->
  (forall h, granted h = true -> renyi (possible h) alpha (eps h) (P h) (Q h)) ->
  renyi (transcripts possible n []) alpha E (joint P []) (joint Q []).
Proof.
  intros Ha HE HD K. apply step_8_one_order with (cost := charged_eps); auto.
  - intros h. unfold charged_eps. destruct (granted h) eqn:G; auto. apply equal_where_refused; auto.
  - intros t _. apply step_39_within; auto.
Qed.

Theorem step_19_filter n : 0 <= E -> 0 <= D ->
  (forall h, granted h = true -> zcdp (possible h) (eps h) (P h) (Q h)) ->
  zcdp (transcripts possible n []) E (joint P []) (joint Q []).
Proof.
  intros HE HD K. apply step_8_composition with (cost := charged_eps); auto.
  - intros h alpha Ha. unfold charged_eps. destruct (granted h) eqn:G; [apply K; auto|].
    rewrite Rmult_0_r. apply equal_where_refused; auto.
  - intros t _. apply step_39_within; auto.
Qed.
End Runs.
