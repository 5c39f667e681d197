(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 38: what is a function of the tokens drawn, as filters_trim and filters_judge are, has the guarantee of the tokens.
   An event of what a function gives is an event of what it is given; nothing else is used. *)
Require Import Reals.
From Cuttle Require Import laws.
Open Scope R_scope.

Theorem step_38_after_the_draw {T U : Type} (l : list T) (eps delta : R) (P Q : T -> R) (f : T -> U) :
  eps_delta l eps delta P Q ->
  forall event : U -> bool,
  chance l P (fun y => event (f y)) <= exp eps * chance l Q (fun y => event (f y)) + delta.
Proof. intros H event. apply H. Qed.
