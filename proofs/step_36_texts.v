(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 36: n places of the word mechanism cost n epsilon, and rho = n min(epsilon^2/2, epsilon), which dp_rank_epsilon and dp_rank_rho tell.
   A record of step 30 has exactly N places, any record for any other; what orders a word may depend on the outputs so far (step 35). *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_05_bounded_range step_06_zcdp step_08_composition
  step_32_order step_33_theorem_r.
Import ListNotations.
Open Scope R_scope.

(* P(y) <= e^eps P'(y) for every y. *)
Definition pure {T} (l : list T) (eps : R) (P Q : T -> R) : Prop :=
  forall y, In y l -> P y <= exp eps * Q y.

Lemma pure_loss {T} (l : list T) eps P Q y : is_law l P -> is_law l Q -> pure l eps P Q -> In y l ->
  loss P Q y <= eps.
Proof.
  intros HP HQ H Hy. pose proof (proj1 HP y Hy). pose proof (proj1 HQ y Hy). specialize (H y Hy).
  assert (R : P y / Q y <= exp eps).
  { apply Rmult_le_reg_r with (Q y); auto. replace (P y / Q y * Q y) with (P y) by (field; lra). lra. }
  unfold loss. rewrite <- (ln_exp eps).
  destruct R as [R|R]; [apply Rlt_le, ln_increasing; auto; apply Rdiv_lt_0_compat; auto|rewrite R; lra].
Qed.

Lemma loss_sym {T} (l : list T) P Q y : is_law l P -> is_law l Q -> In y l -> loss Q P y = - loss P Q y.
Proof.
  intros HP HQ Hy. pose proof (proj1 HP y Hy). pose proof (proj1 HQ y Hy). unfold loss, Rdiv.
  rewrite !ln_mult, !ln_Rinv; auto using Rinv_0_lt_compat. ring.
Qed.

(* Bun and Steinke 2016, Proposition 1.4; and D_alpha <= epsilon <= alpha epsilon. *)
Theorem step_36_pure_to_zcdp {T} (l : list T) eps P Q : is_law l P -> is_law l Q ->
  pure l eps P Q -> pure l eps Q P -> 0 <= eps -> zcdp l (Rmin (eps ^ 2 / 2) eps) P Q.
Proof.
  intros HP HQ F B He. unfold Rmin. destruct (Rle_dec (eps ^ 2 / 2) eps).
  - replace (eps ^ 2 / 2) with ((2 * eps) ^ 2 / 8) by field. apply step_6_zcdp; auto.
    intros y z Hy Hz. pose proof (pure_loss l eps P Q y HP HQ F Hy).
    pose proof (pure_loss l eps Q P z HQ HP B Hz). pose proof (loss_sym l P Q z HP HQ Hz). lra.
  - intros alpha Ha. apply renyi_more with eps; [auto| |].
    + assert (0 <= (alpha - 1) * eps) by (apply Rmult_le_pos; lra). lra.
    + unfold renyi, moment.
      apply Rle_trans with (sum (fun y => exp ((alpha - 1) * eps) * P y) l).
      * apply sum_le. intros y Hy. pose proof (proj1 HP y Hy). pose proof (proj1 HQ y Hy).
        replace (alpha * loss P Q y) with ((alpha - 1) * loss P Q y + loss P Q y) by ring.
        rewrite exp_plus. unfold loss at 2. rewrite exp_ln by (apply Rdiv_lt_0_compat; auto).
        replace (Q y * (exp ((alpha - 1) * loss P Q y) * (P y / Q y)))
          with (exp ((alpha - 1) * loss P Q y) * P y) by (field; lra).
        apply Rmult_le_compat_r; [lra|]. apply exp_le, Rmult_le_compat_l; [lra|].
        apply (pure_loss l); auto.
      * rewrite sum_scal, (proj2 HP). lra.
Qed.

Section Text.
Variables (V : nat) (E : nat -> Z) (bound : Z) (eps : R).
Hypothesis some_word : (0 < V)%nat.
Hypothesis checked : rank_table_checked V E bound.
Hypothesis bound_is_below : IZR bound <= 2 ^ 40 * exp eps.
Hypothesis eps_nonneg : 0 <= eps.

Context {Word : Type}.
(* The keys of a word; they may depend on the outputs so far, never on another word (step 35). *)
Variable keys : list nat -> Word -> nat -> Z.

(* A text is a list of places, each a word or null. The place after the outputs h is place number length h. *)
Definition place_after (text : list (option Word)) (h : list nat) : option (nat -> Z) :=
  match nth (length h) text None with Some x => Some (keys h x) | None => None end.
Definition next_word (text : list (option Word)) (h : list nat) : nat -> R :=
  place_law V E (place_after text h).
Definition words (h : list nat) : list nat := seq 0 V.
Definition text_law (text : list (option Word)) : list nat -> R := joint (next_word text) [].

Lemma text_laws text : laws words (next_word text).
Proof. intros h. eapply step_33_places_have_laws; eauto. Qed.

Lemma outputs_have_length n : forall h t, In t (transcripts words n h) -> length t = n.
Proof.
  induction n as [|n IH]; intros h t H; simpl in H.
  - destruct H as [<-|[]]; auto.
  - apply in_flat_map in H. destruct H as (y & _ & H). apply in_map_iff in H.
    destruct H as (t' & <- & H). simpl. f_equal. eapply IH; eauto.
Qed.

(* differs k says where two texts may differ; each such place costs epsilon, every other nothing. *)
Definition alike (differs : nat -> bool) (text text' : list (option Word)) : Prop :=
  forall k, differs k = false -> nth k text None = nth k text' None.

Lemma step_36_places_add_up differs text text' n : alike differs text text' -> forall h,
  pure (transcripts words n h) (INR (length (filter differs (seq (length h) n))) * eps)
       (joint (next_word text) h) (joint (next_word text') h).
Proof.
  intros A. induction n as [|n IH]; intros h t Ht; simpl in Ht.
  - destruct Ht as [<-|[]]. simpl. rewrite Rmult_0_l, exp_0. lra.
  - apply in_flat_map in Ht. destruct Ht as (y & Hy & Ht). apply in_map_iff in Ht.
    destruct Ht as (t' & <- & Ht). simpl joint.
    pose proof Hy as Hy'. apply in_seq in Hy'.
    pose proof (IH (h ++ [y]) t' Ht) as K. rewrite app_length, Nat.add_1_r in K.
    pose proof (proj1 (text_laws text h) y Hy). pose proof (proj1 (text_laws text' h) y Hy).
    pose proof (joint_pos words _ (text_laws text) n _ _ Ht).
    simpl seq. simpl filter. destruct (differs (length h)) eqn:D.
    + simpl length. rewrite S_INR. set (c := INR _) in *.
      replace ((c + 1) * eps) with (eps + c * eps) by ring. rewrite exp_plus.
      replace (exp eps * exp (c * eps) * (next_word text' h y * joint (next_word text') (h ++ [y]) t'))
        with ((exp eps * next_word text' h y) * (exp (c * eps) * joint (next_word text') (h ++ [y]) t')) by ring.
      assert (P1 : next_word text h y <= exp eps * next_word text' h y)
        by (apply step_33_theorem_r with (bound := bound); auto; lia).
      apply Rmult_le_compat; lra.
    + assert (Same : next_word text h y = next_word text' h y)
        by (unfold next_word, place_after; rewrite (A _ D); auto).
      rewrite Same in *. set (c := INR _) in *.
      replace (exp (c * eps) * (next_word text' h y * joint (next_word text') (h ++ [y]) t'))
        with (next_word text' h y * (exp (c * eps) * joint (next_word text') (h ++ [y]) t')) by ring.
      apply Rmult_le_compat_l; lra.
Qed.

(* Step 35: whatever the keys are made of, given the outputs so far a place is epsilon-private. *)
Theorem step_35_keys_of_the_past text text' h : pure (words h) eps (next_word text h) (next_word text' h).
Proof. intros y Hy. apply in_seq in Hy. apply step_33_theorem_r with (bound := bound); auto; lia. Qed.

(* Neighbours as in "Words": a word or null in place j becomes any other word or null. *)
Theorem step_36_one_place text text' j n : (forall k, k <> j -> nth k text None = nth k text' None) ->
  pure (transcripts words n []) eps (text_law text) (text_law text').
Proof.
  intros H t Ht.
  pose proof (step_36_places_add_up (fun k => Nat.eqb k j) text text' n
    ltac:(intros k K; apply H, Nat.eqb_neq; auto) [] t Ht) as K.
  assert (One : forall m from, (length (filter (fun k => Nat.eqb k j) (seq from m)) <= 1)%nat).
  { assert (None : forall m from, (j < from)%nat -> filter (fun k => Nat.eqb k j) (seq from m) = []).
    { induction m as [|m IH]; intros from L; simpl; auto.
      destruct (Nat.eqb_spec from j); [lia|]. apply IH; lia. }
    induction m as [|m IH]; intros from; simpl; [lia|].
    destruct (Nat.eqb_spec from j); [|apply IH]. rewrite None by lia. simpl; lia. }
  pose proof (le_INR _ _ (One n 0%nat)) as L. simpl (INR 1) in L.
  pose proof (joint_pos words _ (text_laws text') n _ _ Ht).
  apply Rle_trans with (1 := K). apply Rmult_le_compat_r; [apply Rlt_le; auto|].
  apply exp_le. pose proof (Rmult_le_compat_r eps _ _ eps_nonneg L). simpl length in *. lra.
Qed.

(* A record, cut and filled to exactly N places: N epsilon, whatever the two records are. *)
Theorem step_36_records text text' N :
  pure (transcripts words N []) (INR N * eps) (text_law text) (text_law text').
Proof.
  pose proof (step_36_places_add_up (fun _ => true) text text' N ltac:(intros k K; discriminate) []) as K.
  assert (all : forall l : list nat, filter (fun _ => true) l = l)
    by (induction l as [|a l IH]; simpl; congruence).
  rewrite all, seq_length in K. exact K.
Qed.

Theorem step_36_records_in_zcdp text text' N :
  zcdp (transcripts words N []) (INR N * Rmin (eps ^ 2 / 2) eps) (text_law text) (text_law text').
Proof.
  apply step_8_capped with (looks := fun _ => true); auto using text_laws; try discriminate.
  - apply Rmin_glb; [pose proof (pow2_ge_0 eps); lra|auto].
  - intros h _. apply step_36_pure_to_zcdp; auto using text_laws; try apply text_laws;
      intros y Hy; apply in_seq in Hy; apply step_33_theorem_r with (bound := bound); auto; lia.
  - assert (L : forall t h : list nat, looked (fun _ => true) h t = length t)
      by (induction t as [|y t IH]; intros h; simpl; auto).
    intros t Ht. rewrite L, (outputs_have_length N [] t Ht); auto.
Qed.
End Text.
