(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 55: dp_learn_round cuts the integers of a record to a length of S, so that a record that becomes null moves their sum by S at most.
   An owner's records are summed before the cut, and count as one; noise of variance sigma^2 makes the answer (S^2 / (2 sigma^2))-zCDP. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws step_03_sum step_08_composition step_50_gaussian.
Import ListNotations.

Open Scope Z_scope.

(* A vector of d integers is a function of its place; square d is its length squared. *)
Definition plus (p q : nat -> Z) : nat -> Z := fun j => p j + q j.
Definition zero : nat -> Z := fun _ => 0.

Section Learn.
Variable d : nat.
(* S, 64 in the code. *)
Variable most : Z.
Hypothesis most_pos : 0 < most.

(* find_length: the square root, rounded up. *)
Definition length_of (q : nat -> Z) : Z := Z.sqrt_up (square d q).
(* Rounded towards 0, as C divides. *)
Definition scaled (q : nat -> Z) : nat -> Z := fun j => Z.quot (q j * most) (length_of q).
Definition cut (q : nat -> Z) : nat -> Z :=
  let r := if square d q <=? most ^ 2 then q else scaled q in
  if square d r <=? most ^ 2 then r else zero.

Lemma square_nonneg q : 0 <= square d q.
Proof. revert q; induction d as [|n IH]; intros q; cbn [square]; [lia|]. specialize (IH (fun j => q (S j))). nia. Qed.

(* Each number becomes no larger than q S / L, so all together no longer than |q| S / L. *)
Lemma quotients_are_shorter L q : 0 < L ->
  L ^ 2 * square d (fun j => Z.quot (q j * most) L) <= most ^ 2 * square d q.
Proof.
  intros HL. revert q. induction d as [|n IH]; intros q; cbn [square]; [lia|].
  specialize (IH (fun j => q (S j))). cbv beta in IH. set (z := q 0%nat * most) in *.
  assert (One : L ^ 2 * Z.quot z L ^ 2 <= z ^ 2).
  { pose proof (Z.quot_rem z L ltac:(lia)) as E. destruct (Z.le_gt_cases 0 z).
    - pose proof (Z.rem_nonneg z L ltac:(lia) ltac:(lia)). pose proof (Z.quot_pos z L ltac:(lia) ltac:(lia)). nia.
    - pose proof (Z.rem_nonpos z L ltac:(lia) ltac:(lia)).
      pose proof (Z.quot_opp_l z L ltac:(lia)). pose proof (Z.quot_pos (- z) L ltac:(lia) ltac:(lia)). nia. }
  rewrite !Z.mul_add_distr_l. apply Z.add_le_mono; [|exact IH].
  replace (most ^ 2 * q 0%nat ^ 2) with (z ^ 2) by (unfold z; ring). exact One.
Qed.

(* So the last check of dp_learn_round never fails. *)
Lemma step_55_scaled_is_within q : most ^ 2 < square d q -> square d (scaled q) <= most ^ 2.
Proof.
  intros H. unfold scaled. pose proof (Z.sqrt_up_spec (square d q) ltac:(nia)) as [_ Up]. fold (length_of q) in Up.
  assert (HL : 0 < length_of q) by (apply Z.sqrt_up_pos; nia).
  pose proof (quotients_are_shorter (length_of q) q HL) as K.
  set (r := square d (fun j => Z.quot (q j * most) (length_of q))) in *. set (L := length_of q) in *.
  assert (A : most ^ 2 * square d q <= most ^ 2 * L ^ 2) by (apply Z.mul_le_mono_nonneg_l; nia).
  apply Z.mul_le_mono_pos_l with (L ^ 2); nia.
Qed.

Lemma step_55_cut_is_within q : square d (cut q) <= most ^ 2.
Proof.
  unfold cut. destruct (square d q <=? most ^ 2) eqn:E.
  - rewrite E. apply Z.leb_le; auto.
  - apply Z.leb_gt in E. pose proof (step_55_scaled_is_within q E) as K. apply Z.leb_le in K. rewrite K. apply Z.leb_le; auto.
Qed.

(* What is within is left as it is. *)
Lemma step_55_short_stays q : square d q <= most ^ 2 -> cut q = q.
Proof. intros H. apply Z.leb_le in H. unfold cut. rewrite H, H. auto. Qed.

Section Owners.
Context {Record : Type}.
(* The integers of a record before the cut, of that record and of public numbers alone (assumption R); None: a number is not finite. *)
Variable vector : Record -> option (nat -> Z).

Definition of_record (r : Record) : nat -> Z := match vector r with Some q => q | None => zero end.
(* A place is an owner with all records that he has; without owners, one record. Null adds nothing. *)
Definition part (place : option (list Record)) : nat -> Z :=
  match place with
  | None => zero
  | Some records => cut (fold_right (fun r s => plus (of_record r) s) zero records)
  end.
Definition total (places : list (option (list Record))) : nat -> Z :=
  fold_right (fun p s => plus (part p) s) zero places.

Lemma square_zero n : square n zero = 0.
Proof. induction n as [|n IH]; cbn [square]; [auto|]. change (fun j => zero (S j)) with zero. rewrite IH. auto. Qed.

Lemma step_55_part_is_within place : square d (part place) <= most ^ 2.
Proof. destruct place as [records|]; [apply step_55_cut_is_within|]. unfold part. rewrite square_zero. nia. Qed.

Lemma total_app a b j : total (a ++ b) j = total a j + total b j.
Proof.
  induction a as [|p a IH]; [reflexivity|].
  change (part p j + total (a ++ b) j = part p j + total a j + total b j). rewrite IH. lia.
Qed.

Lemma square_ext n : forall p q, (forall j, p j = q j) -> square n p = square n q.
Proof. induction n as [|n IH]; intros p q H; cbn [square]; [auto|]. rewrite H, (IH _ (fun j => q (S j))); auto. Qed.

Lemma square_opp n : forall q, square n (fun j => - q j) = square n q.
Proof. induction n as [|n IH]; intros q; cbn [square]; [auto|]. rewrite (IH (fun j => q (S j))). ring. Qed.

(* The sum moves by what the place added. *)
Lemma moved_by_a_part places k : exists place, forall j, total places j - total (blank places k) j = part place j.
Proof.
  exists (match skipn k places with [] => None | p :: _ => p end). intros j.
  rewrite <- (firstn_skipn k places) at 1. unfold blank. destruct (skipn k places) as [|p after]; rewrite !total_app.
  - change (part None j) with 0. lia.
  - change (total (p :: after) j) with (part p j + total after j).
    change (total (None :: after) j) with (0 + total after j). lia.
Qed.

Lemma step_55_sum_moves_within places k :
  square d (fun j => total places j - total (blank places k) j) <= most ^ 2.
Proof.
  destruct (moved_by_a_part places k) as [place H]. rewrite (square_ext d _ (part place) H). apply step_55_part_is_within.
Qed.

(* An owner of whom some records become null, and others stay: he exchanges his part, which may move it twice as far. *)
Lemma square_of_difference n : forall p q, square n (fun j => p j - q j) <= 2 * square n p + 2 * square n q.
Proof.
  induction n as [|n IH]; intros p q; cbn [square]; [lia|].
  specialize (IH (fun j => p (S j)) (fun j => q (S j))). cbv beta in IH.
  pose proof (Z.square_nonneg (p 0%nat + q 0%nat)). nia.
Qed.

Lemma step_55_some_of_an_owners_records p p' : square d (fun j => part p j - part p' j) <= (2 * most) ^ 2.
Proof.
  pose proof (square_of_difference d (part p) (part p')). pose proof (step_55_part_is_within p). pose proof (step_55_part_is_within p'). nia.
Qed.

Section Noise.
Open Scope R_scope.
Variable s2 : R.
Hypothesis s2_pos : 0 < s2.
Variable w : R.
Hypothesis w_whole : is_whole s2 w.

Definition answer (places : list (option (list Record))) : list Z -> R := noisy_all s2 w (total places).
Definition rho_of_bias : R := IZR (most ^ 2) / (2 * s2).

Lemma zcdp_more {T} (l : list T) rho rho' P Q : rho <= rho' -> zcdp l rho P Q -> zcdp l rho' P Q.
Proof.
  intros H Z alpha Ha. apply renyi_more with (alpha * rho); auto. apply Rmult_le_compat_l; lra.
Qed.

(* Both ways round, for any finite part of the answers there are. *)
Theorem step_55_one_answer places k l : NoDup l -> (forall x, In x l -> length x = d) ->
  zcdp l rho_of_bias (answer places) (answer (blank places k)) /\
  zcdp l rho_of_bias (answer (blank places k)) (answer places).
Proof.
  intros N L. pose proof (step_55_sum_moves_within places k) as M. unfold rho_of_bias, answer.
  assert (less : forall z, (z <= most ^ 2)%Z -> IZR z / (2 * s2) <= IZR (most ^ 2) / (2 * s2)).
  { intros z Hz. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|apply IZR_le; auto]. }
  split; (eapply zcdp_more; [|apply (step_50_answers s2 s2_pos w w_whole d); auto]); apply less; auto.
  rewrite (square_ext d _ (fun j => - (total places j - total (blank places k) j))%Z) by (intros; lia).
  rewrite square_opp. auto.
Qed.
End Noise.
End Owners.
End Learn.

(* With S = 2: (3, 3) has the length 4.24, so L = 5, and 2 3 / 5 is 1. Rounded away from 0 it is 2, and (2, 2) is longer than S. *)
Definition of_list (q : list Z) (j : nat) : Z := nth j q 0.
Example rounding_away_is_longer : let q := of_list [3; 3] in
  length_of 2 q = 5 /\ square 2 (scaled 2 2 q) = 2 /\ square 2 (fun j => (q j * 2 + 4) / 5) = 8 /\ 2 ^ 2 < 8.
Proof. repeat split; vm_compute; congruence. Qed.
(* With L rounded down, (2, 1) of length 2.24 stays as it is. *)
Example a_length_rounded_down_is_longer : let q := of_list [2; 1] in
  Z.sqrt (square 2 q) = 2 /\ square 2 (fun j => Z.quot (q j * 2) 2) = 5 /\ 2 ^ 2 < 5.
Proof. repeat split; vm_compute; congruence. Qed.
(* Two records of one owner, each of the length S, are cut to S together; cut one by one they are 2 S. *)
Example cutting_before_the_sum_is_longer : let q := of_list [2; 0] in
  square 2 (cut 2 2 (plus q q)) = 4 /\ square 2 (plus (cut 2 2 q) (cut 2 2 q)) = 16.
Proof. split; reflexivity. Qed.
(* And 2 S is reached where some of an owner's records become null: with (-4, 0) he is at (-2, 0), and without it at (2, 0). *)
Example some_records_move_more : let q := of_list [2; 0] in let r := of_list [-4; 0] in
  square 2 (fun j => cut 2 2 (plus q r) j - cut 2 2 q j) = 4 * 2 ^ 2.
Proof. reflexivity. Qed.
