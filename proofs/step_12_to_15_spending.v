(* SPDX-License-Identifier: Apache-2.0 *)
(* Steps 12 to 15: the options that spend better (dp_center, transcript_add, dp_invisibleink_sure, dp_invisibleink_alone) leave rho as it is.
   Each is a case of the theorem, whose centre, length and free steps are any public functions; here each is said by itself. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_02_public step_03_sum step_05_bounded_range theorem_invisibleink.
Import ListNotations.
Open Scope R_scope.

(* Step 12: with any two centres the same bound holds. *)
Lemma step_12_any_centre {Token Reference : Type} (Chat : Z) (pub : Token -> Z)
  (centre centre' : (Token -> Z) -> Z) (row : Reference -> option (Token -> Z)) places j y :
  (0 <= Chat)%Z ->
  (Z.abs (total Chat pub centre row places y - total Chat pub centre row (blank places j) y) <= Chat)%Z /\
  (Z.abs (total Chat pub centre' row places y - total Chat pub centre' row (blank places j) y) <= Chat)%Z.
Proof. intros; split; apply step_3_sum_moves_by_chat; auto. Qed.

Section Spending.
Context {Token Reference : Type}.
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.

(* Step 13: n, the length of a batch's sequence, does not stand in rho; T does. *)
Theorem step_13_further_texts (refs : list (option Reference)) j n T : capped M n T ->
  zcdp (outputs M n) (rho_of (ratio M) T) (world M row refs) (world M row (blank refs j)).
Proof. intros C. exact (proj1 (theorem_zcdp M row M_sound refs n T C j)). Qed.

(* Step 14: both worlds draw a free step from one law. *)
Theorem step_14_free_steps (refs refs' : list (option Reference)) h y : looks M h = false ->
  next M row refs h y = next M row refs' h y.
Proof. exact (next_free M row refs refs' h y). Qed.

(* Step 15: after h no step looks; then the rest has one law in both worlds. *)
Theorem step_15_after_the_cap (refs refs' : list (option Reference)) : forall t h,
  (forall h', looks M (h ++ h') = false) -> joint (next M row refs) h t = joint (next M row refs') h t.
Proof.
  induction t as [|y t IH]; intros h F; simpl; auto.
  f_equal.
  - apply next_free. specialize (F []). rewrite app_nil_r in F. auto.
  - apply IH. intros h'. rewrite <- app_assoc. apply F.
Qed.
End Spending.
