(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 57: which tokens a grammar lets come is a function of those drawn, so the theorem holds as it stands: its mask is such a function.
   Where one token is left both worlds have it for sure, so that step may be left out of those that look, and of T. *)
Require Import Reals List Lra ZArith.
From Cuttle Require Import laws transcripts step_02_public step_03_sum step_06_zcdp theorem_invisibleink.
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

(* A record's form is a function of that record alone: to blank a record before or after it is put into its form is the same. *)
Lemma step_57_form_of_each_record {Record Form : Type} (form : Record -> option Form) records j :
  map (fun r => match r with Some x => form x | None => None end) (blank records j) =
  blank (map (fun r => match r with Some x => form x | None => None end) records) j.
Proof.
  unfold blank. rewrite map_app, firstn_map, skipn_map.
  destruct (skipn j records) as [|r after]; simpl; auto.
Qed.
