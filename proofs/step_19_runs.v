(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 19: runs add up in rho, each with parameters chosen after all earlier outputs, where ledger_reserve refuses what would go over R.
   Renyi losses at one order add up likewise; a run is one long token here, and its charge a function of the outputs before it. *)
Require Import Reals List.
From Cuttle Require Import laws transcripts step_08_composition.
Import ListNotations.
Open Scope R_scope.

Section Runs.
Context {Output : Type}.
(* What a run may write, its law in both worlds and its charge rho_i(u): all follow from the outputs before it. *)
Variable possible : list Output -> list Output.
Variables P Q : list Output -> Output -> R.
Variable charge : list Output -> R.
Hypothesis P_laws : laws possible P.
Hypothesis Q_laws : laws possible Q.

Theorem step_19_runs_add_up n limit :
  (forall h, zcdp (possible h) (charge h) (P h) (Q h)) ->
  (forall outputs, In outputs (transcripts possible n []) -> spent charge [] outputs <= limit) ->
  zcdp (transcripts possible n []) limit (joint P []) (joint Q []).
Proof. apply step_8_composition; auto. Qed.

Theorem step_19_losses_at_one_order alpha n limit : 1 < alpha ->
  (forall h, renyi (possible h) alpha (charge h) (P h) (Q h)) ->
  (forall outputs, In outputs (transcripts possible n []) -> spent charge [] outputs <= limit) ->
  renyi (transcripts possible n []) alpha limit (joint P []) (joint Q []).
Proof. intros; apply step_8_one_order with (cost := charge); auto. Qed.
End Runs.
