(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 57: which tokens a grammar lets come is a function of those drawn, so the theorem holds as it stands: its mask is such a function.
   Where one token is left both worlds have it for sure, so that step may be left out of those that look, and of T. *)
Require Import Reals List Lra Lia ZArith Bool.
From Cuttle Require Import laws transcripts step_02_public step_03_sum step_05_bounded_range step_06_zcdp step_10_exact theorem_invisibleink.
Import ListNotations.
Open Scope R_scope.

Section Grammar.
Context {Token Reference : Type}.
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.

Lemma step_57_a_forced_token_is_certain (refs : list (option Reference)) h y :
  tokens M h = [y] -> next M row refs h y = 1.
Proof.
  intros E. pose proof (proj2 (next_is_law M row M_sound refs h)) as L.
  rewrite E in L. simpl in L. lra.
Qed.

(* Whether a step leaves no choice. *)
Definition forced (h : list Token) : bool :=
  match tokens M h with [_] => true | _ => false end.

(* The same mechanism, whose forced steps look at nothing. *)
Definition spare : mechanism Token :=
  {| places := places M; clip := clip M; lift := lift M; table := table M; ratio := ratio M;
     allowed := allowed M; public := public M; cut := cut M; rounded := rounded M; centre := centre M;
     looks := fun h => if forced h then false else looks M h |}.

Lemma spare_sound : sound spare.
Proof. destruct M_sound; constructor; auto. Qed.

(* It draws what the other one draws, in every world. *)
Lemma step_57_forced_steps_need_no_look (refs : list (option Reference)) h y :
  In y (tokens M h) -> next spare row refs h y = next M row refs h y.
Proof.
  intros I. destruct (forced h) eqn:F.
  - unfold forced in F. destruct (tokens M h) as [|x [|z l]] eqn:E; try discriminate.
    destruct I as [<-|[]].
    rewrite (step_57_a_forced_token_is_certain refs h x E).
    pose proof (proj2 (next_is_law spare row spare_sound refs h)) as L.
    change (tokens spare h) with (tokens M h) in L. rewrite E in L. simpl in L. lra.
  - unfold next, private_sum. change (tokens spare h) with (tokens M h). simpl.
    rewrite F. reflexivity.
Qed.

(* So T counts the steps that look and leave a choice. *)
Theorem step_57_zcdp (refs : list (option Reference)) n T j : capped spare n T ->
  zcdp (outputs spare n) (rho_of (ratio M) T) (world spare row refs) (world spare row (blank refs j)) /\
  zcdp (outputs spare n) (rho_of (ratio M) T) (world spare row (blank refs j)) (world spare row refs).
Proof. intros C. exact (theorem_zcdp spare row spare_sound refs n T C j). Qed.
End Grammar.

(* The same as the loop does it, which asks for no V+: a step is forced by what may come, and T is counted as tokens come. *)
Definition alone {Token : Type} (l : list Token) : bool :=
  match l with
  | [_] => true
  | _ => false
  end.

Section Counted.
Context {Token : Type}.
(* Whether the token after h would be paid for, if there is something left to pay with. *)
Variable choice : list Token -> bool.
Variable T : nat.

(* `spent` of a transcript: of t after h, with n paid before. *)
Fixpoint paid (n : nat) (h t : list Token) : nat :=
  match t with
  | [] => n
  | y :: t => paid (if choice h && (n <? T)%nat then S n else n) (h ++ [y]) t
  end.
(* Paid: a choice, while fewer than T were. Any other step is a forced one, or is drawn from the public row alone. *)
Definition pays (h : list Token) : bool := choice h && (paid 0 [] h <? T)%nat.

Lemma paid_app t : forall n h u, paid n h (t ++ u) = paid (paid n h t) (h ++ t) u.
Proof.
  induction t as [|y t IH]; intros n h u; simpl; [rewrite app_nil_r; auto|].
  rewrite IH, <- app_assoc. auto.
Qed.

Lemma paid_more h y : paid 0 [] (h ++ [y]) = if pays h then S (paid 0 [] h) else paid 0 [] h.
Proof. rewrite paid_app. auto. Qed.

Lemma looked_and_paid t : forall h, (paid 0 [] h <= T)%nat -> (looked pays h t + paid 0 [] h <= T)%nat.
Proof.
  induction t as [|y t IH]; intros h L; simpl; [lia|].
  specialize (IH (h ++ [y])). rewrite paid_more in IH.
  destruct (pays h) eqn:E; [|specialize (IH L); lia].
  unfold pays in E. apply andb_true_iff in E. destruct E as [_ E]. apply Nat.ltb_lt in E.
  specialize (IH ltac:(lia)). lia.
Qed.

(* However many tokens are written. *)
Lemma step_57_at_most_T_are_paid t : (looked pays [] t <= T)%nat.
Proof. pose proof (looked_and_paid t []). simpl in H. specialize (H ltac:(lia)). lia. Qed.
End Counted.

Section Guided.
Context {Token Reference : Type}.
(* The mechanism as it is without a grammar: its mask, its free steps. *)
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.
(* What the grammar lets come after h: by itself, by what was drawn, and by how many of these were paid and free. *)
Variable may : list Token -> list Token.
(* The k-th largest among them, or any other number that the public row gives and one of them reaches: there is one. *)
Variable cut_among : list Token -> (Token -> Z) -> Z.
Hypothesis among_is_reached : forall h, exists y, In y (may h) /\ (cut_among h (public M h) <= public M h y)%Z.
Variable T : nat.

(* The one token that can come is no choice; nor is a step that is free without a grammar. *)
Definition choice (h : list Token) : bool := looks M h && negb (alone (may h)).

Definition guided : mechanism Token := {|
  places := places M; clip := clip M; lift := lift M; table := table M; ratio := ratio M;
  allowed := may; public := public M; cut := cut_among; rounded := rounded M; centre := centre M;
  looks := pays choice T |}.

Lemma guided_is_sound : sound guided.
Proof. destruct M_sound. split; simpl; auto. Qed.

(* V+ is a part of what may come, the same in both worlds, and never empty. *)
Lemma step_57_candidates_may_come h y : In y (tokens guided h) -> In y (may h).
Proof. unfold tokens, candidates_of. simpl. intros H. apply filter_In in H. apply H. Qed.

Lemma step_57_some_candidate h : exists y, In y (tokens guided h).
Proof. apply some_token, guided_is_sound. Qed.

(* Under any past, and whatever may come there, a step has bounded range eta. *)
Lemma step_57_bounded_range (refs : list (option Reference)) j h :
  bounded_range (tokens guided h) (eta_of (ratio M)) (next guided row refs h) (next guided row (blank refs j) h).
Proof.
  replace (eta_of (ratio M)) with (INR 1 * eta_of (ratio guided)) by (simpl; ring).
  apply next_range; [apply guided_is_sound|]. apply blank_apart, guided_is_sound.
Qed.

(* One token is left: whatever the references say, it comes. So nothing has to be drawn, and no row to be read. *)
Lemma step_57_one_token_is_left h y : may h = [y] -> tokens guided h = [y].
Proof.
  intros E. destruct (step_57_some_candidate h) as [z Z]. revert Z.
  unfold tokens, candidates_of. simpl allowed. rewrite E. cbn [filter].
  destruct (_ <=? _)%Z; [auto|intros []].
Qed.

Lemma step_57_forced_has_range_0 (refs refs' : list (option Reference)) h : alone (may h) = true ->
  bounded_range (tokens guided h) 0 (next guided row refs h) (next guided row refs' h).
Proof.
  intros A. destruct (may h) as [|y [|z l]] eqn:E; try discriminate.
  pose proof (step_57_one_token_is_left h y E) as O.
  assert (R : loss (next guided row refs h) (next guided row refs' h) y = 0).
  { unfold loss. rewrite !(step_57_a_forced_token_is_certain guided row guided_is_sound _ h y O).
    replace (1 / 1) with 1 by field. apply ln_1. }
  rewrite O. intros u v [<-|[]] [<-|[]]. lra.
Qed.

(* Forced steps, and those after T, draw from one law in both worlds. *)
Lemma step_57_unpaid_has_one_law (refs refs' : list (option Reference)) h y : pays choice T h = false ->
  next guided row refs h y = next guided row refs' h y.
Proof. apply (next_free guided row refs refs' h y). Qed.

Lemma guided_is_capped n : capped guided n T.
Proof. intros t _. apply step_57_at_most_T_are_paid. Qed.

(* The theorem as it stands, of a text of any number n of tokens, forced ones and its way to an end included. *)
Theorem step_57_guided_zcdp (refs : list (option Reference)) n j :
  zcdp (outputs guided n) (rho_of (ratio M) T) (world guided row refs) (world guided row (blank refs j)) /\
  zcdp (outputs guided n) (rho_of (ratio M) T) (world guided row (blank refs j)) (world guided row refs).
Proof. apply (theorem_zcdp guided row guided_is_sound refs n T (guided_is_capped n) j). Qed.

Theorem step_57_guided_exact (V : nat -> R -> R) (refs : list (option Reference)) n j eps :
  0 < ratio M -> obeys_recursion (eta_of (ratio M)) V ->
  eps_delta (outputs guided n) eps (V T (exp eps)) (world guided row refs) (world guided row (blank refs j)) /\
  eps_delta (outputs guided n) eps (V T (exp eps)) (world guided row (blank refs j)) (world guided row refs).
Proof. intros Hl HV. apply (theorem_exact guided row guided_is_sound refs n T (guided_is_capped n) V j eps Hl HV). Qed.
End Guided.

(* A record's form is a function of that record alone: to blank a record before or after it is put into its form is the same. *)
Lemma step_57_form_of_each_record {Record Form : Type} (form : Record -> option Form) records j :
  map (fun r => match r with Some x => form x | None => None end) (blank records j) =
  blank (map (fun r => match r with Some x => form x | None => None end) records) j.
Proof.
  unfold blank. rewrite map_app, firstn_map, skipn_map.
  destruct (skipn j records) as [|r after]; simpl; auto.
Qed.
