(* SPDX-License-Identifier: Apache-2.0 *)
(* The theorem of dp/PRIVACY.md: all tokens that the mechanism of dp/invisibleink.c draws from a batch are together (T eta^2/8)-zCDP.
   It puts steps 2 to 10 together, with steps 12 to 15 (any centre, further texts, free steps) and 17 (several places of one batch). *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_02_public step_03_sum step_04_table step_05_bounded_range
  step_06_zcdp step_08_composition step_09_conversion step_10_exact.
Import ListNotations.
Open Scope R_scope.

(* eta of a lambda, rho of T steps. *)
Definition eta_of (lambda : R) : R := 2 * lambda.
Definition rho_of (lambda : R) (T : nat) : R := INR T * (eta_of lambda ^ 2 / 8).

(* What is public: parameters, and functions of the tokens drawn so far. *)
Record mechanism {Token : Type} := {
  places : nat;                              (* B *)
  clip : Z;                                  (* Chat *)
  lift : Z;                                  (* floor(g Chat), for the candidates *)
  table : Z -> Z;                            (* E *)
  ratio : R;                                 (* lambda *)
  allowed : list Token -> list Token;        (* the mask *)
  public : list Token -> Token -> Z;         (* L_pub *)
  cut : list Token -> (Token -> Z) -> Z;      (* the k-th largest of the allowed, of the public row *)
  rounded : (Token -> Z) -> Token -> Z;      (* A before it is raised to 1 *)
  centre : (Token -> Z) -> (Token -> Z) -> Z; (* s, of the public row and a row's own *)
  looks : list Token -> bool                 (* false in free steps *)
}.
Arguments mechanism : clear implicits.

Section Mechanism.
Context {Token Reference : Type}.
Variable M : mechanism Token.
(* Assumption R: a row is a function of its own reference and the tokens drawn. None: it is not finite. *)
Variable row : list Token -> Reference -> option (Token -> Z).

Definition tokens (h : list Token) : list Token :=
  candidates_of (allowed M h) (Z.of_nat (places M)) (lift M) (cut M h) (public M h).
(* S, clamped once after the sum: B rows never reach the clamp, and with lots (step 39) a batch may have more. *)
Definition private_sum (refs : list (option Reference)) (h : list Token) (y : Token) : Z :=
  let N := (Z.of_nat (places M) * clip M)%Z in
  if looks M h then clamp (- N) N (total (clip M) (public M h) (centre M (public M h)) (row h) refs y) else 0%Z.
(* The law of the token that follows h. *)
Definition next (refs : list (option Reference)) (h : list Token) : Token -> R :=
  law (tokens h) (weight_of (rounded M) (public M h)) (table M) (private_sum refs h).

(* What dp_invisibleink_new makes sure of. *)
Record sound : Prop := {
  some_place : (1 <= places M)%nat;
  clip_nonneg : (0 <= clip M)%Z;
  lift_nonneg : (0 <= lift M)%Z;
  cut_is_reached : forall h, exists y, In y (allowed M h) /\ (cut M h (public M h) <= public M h y)%Z;
  table_is_checked : table_checked (Z.of_nat (places M) * clip M) (clip M) (table M) (ratio M)
}.
Hypothesis M_sound : sound.
Let N := (Z.of_nat (places M) * clip M)%Z.

Lemma clip_fits : (0 <= clip M <= 2 * N)%Z.
Proof. pose proof (some_place M_sound). pose proof (clip_nonneg M_sound). unfold N. nia. Qed.

Lemma some_token h : exists y, In y (tokens h).
Proof.
  apply step_2_some_candidate; [apply (lift_nonneg M_sound)|lia|]. apply (cut_is_reached M_sound).
Qed.

Lemma sum_in_table refs h : in_table N (private_sum refs h).
Proof.
  intros y. pose proof (clip_nonneg M_sound). unfold private_sum. fold N. destruct (looks M h); unfold clamp, N; nia.
Qed.

Lemma theorem_nothing_is_clamped refs h y : (length refs <= places M)%nat -> looks M h = true ->
  private_sum refs h y = total (clip M) (public M h) (centre M (public M h)) (row h) refs y.
Proof.
  intros L K. pose proof (clip_nonneg M_sound). unfold private_sum. rewrite K.
  pose proof (step_3_sum_fits (clip M) (clip_nonneg M_sound) (public M h)
    (centre M (public M h)) (row h) refs y). unfold clamp. nia.
Qed.

Lemma next_is_law refs : laws tokens (next refs).
Proof.
  intros h. apply step_5_same_support with (N := N) (Chat := clip M) (lambda := ratio M).
  - apply some_token.
  - intros; apply step_2_weights_are_positive.
  - apply (table_is_checked M_sound).
  - apply sum_in_table.
Qed.

(* Two inputs whose private sums are never more than g Chat apart. *)
Definition g_apart (g : nat) (refs refs' : list (option Reference)) : Prop :=
  forall h, apart (clip M) g (private_sum refs h) (private_sum refs' h).

Lemma next_range g refs refs' h : apart (clip M) g (private_sum refs h) (private_sum refs' h) ->
  bounded_range (tokens h) (INR g * eta_of (ratio M)) (next refs h) (next refs' h).
Proof.
  intros D. apply step_17_bounded_range with (N := N) (Chat := clip M); auto using sum_in_table.
  - apply some_token.
  - intros; apply step_2_weights_are_positive.
  - apply clip_fits.
  - apply (table_is_checked M_sound).
Qed.

Lemma next_free refs refs' h y : looks M h = false -> next refs h y = next refs' h y.
Proof. intros F. unfold next, private_sum. rewrite F. auto. Qed.

(* n tokens, free ones among them, and further texts; at most T of them look. *)
Definition outputs (n : nat) : list (list Token) := transcripts tokens n [].
Definition world (refs : list (option Reference)) : list Token -> R := joint (next refs) [].
Definition capped (n T : nat) : Prop := forall t, In t (outputs n) -> (looked (looks M) [] t <= T)%nat.

Lemma moved_zcdp g refs refs' n T : g_apart g refs refs' -> capped n T ->
  zcdp (outputs n) (INR g ^ 2 * rho_of (ratio M) T) (world refs) (world refs').
Proof.
  intros D C. unfold rho_of.
  replace (INR g ^ 2 * (INR T * (eta_of (ratio M) ^ 2 / 8)))
    with (INR T * ((INR g * eta_of (ratio M)) ^ 2 / 8)) by (unfold Rdiv; ring).
  apply step_8_capped with (looks := looks M); auto using next_is_law, next_free.
  - pose proof (pow2_ge_0 (INR g * eta_of (ratio M))). lra.
  - intros h _. apply step_6_zcdp; try apply next_is_law; auto. apply next_range, D.
Qed.

Lemma g_apart_sym g refs refs' : g_apart g refs refs' -> g_apart g refs' refs.
Proof. intros D h. apply apart_sym, D. Qed.

Lemma blank_apart refs j : g_apart 1 refs (blank refs j).
Proof.
  intros h y. pose proof (clip_nonneg M_sound). unfold private_sum. destruct (looks M h); [|lia].
  pose proof (step_3_sum_moves_by_chat (clip M) (clip_nonneg M_sound) (public M h)
    (centre M (public M h)) (row h) refs j y). unfold clamp. lia.
Qed.

Section Batch.
Variables (refs : list (option Reference)) (n T : nat).
Hypothesis cap : capped n T.

(* The theorem: the reference in place j, or null. *)
Theorem theorem_zcdp j :
  zcdp (outputs n) (rho_of (ratio M) T) (world refs) (world (blank refs j)) /\
  zcdp (outputs n) (rho_of (ratio M) T) (world (blank refs j)) (world refs).
Proof.
  replace (rho_of (ratio M) T) with (INR 1 ^ 2 * rho_of (ratio M) T) by (simpl; ring).
  split; apply moved_zcdp; auto using blank_apart, g_apart_sym.
Qed.

Theorem theorem_eps_delta j eps alpha : 1 < alpha ->
  eps_delta (outputs n) eps (delta_at (alpha * rho_of (ratio M) T) eps alpha) (world refs) (world (blank refs j)) /\
  eps_delta (outputs n) eps (delta_at (alpha * rho_of (ratio M) T) eps alpha) (world (blank refs j)) (world refs).
Proof.
  intros Ha. destruct (theorem_zcdp j).
  split; apply step_9_zcdp_to_eps_delta; auto; apply joint_is_law, next_is_law; auto.
Qed.

(* The same for the accountant exact: V is any table that obeys step 10. *)
Theorem theorem_exact (V : nat -> R -> R) j eps : 0 < ratio M -> obeys_recursion (eta_of (ratio M)) V ->
  eps_delta (outputs n) eps (V T (exp eps)) (world refs) (world (blank refs j)) /\
  eps_delta (outputs n) eps (V T (exp eps)) (world (blank refs j)) (world refs).
Proof.
  intros Hl HV.
  assert (K : forall r r', g_apart 1 r r' -> eps_delta (outputs n) eps (V T (exp eps)) (world r) (world r')).
  { intros r r' D. apply step_10_eps_delta with (eta := eta_of (ratio M)) (looks := looks M);
      auto using next_is_law, next_free.
    - unfold eta_of; lra.
    - intros h _. replace (eta_of (ratio M)) with (INR 1 * eta_of (ratio M)) by (simpl; ring).
      apply next_range, D. }
  split; apply K; auto using blank_apart, g_apart_sym.
Qed.

(* Step 17: g places of one batch cost g^2 rho. *)
Theorem step_17_places_of_one_batch js :
  zcdp (outputs n) (INR (length js) ^ 2 * rho_of (ratio M) T) (world refs) (world (fold_left blank js refs)) /\
  zcdp (outputs n) (INR (length js) ^ 2 * rho_of (ratio M) T) (world (fold_left blank js refs)) (world refs).
Proof.
  assert (D : g_apart (length js) refs (fold_left blank js refs)).
  { intros h y. pose proof (clip_nonneg M_sound). unfold private_sum. destruct (looks M h); [|lia].
    pose proof (step_17_sum_moves_by_g_chat (clip M) (clip_nonneg M_sound) (public M h)
      (centre M (public M h)) (row h) js refs y). unfold clamp. lia. }
  split; apply moved_zcdp; auto using g_apart_sym.
Qed.

(* "Exchange of a reference (rather than its removal): 4 rho." *)
Theorem exchange_costs_4_rho j x :
  zcdp (outputs n) (4 * rho_of (ratio M) T) (world refs) (world (exchange refs j x)).
Proof.
  replace (4 * rho_of (ratio M) T) with (INR 2 ^ 2 * rho_of (ratio M) T) by (simpl; ring).
  apply moved_zcdp; auto.
  intros h y. pose proof (clip_nonneg M_sound). unfold private_sum. destruct (looks M h); [|lia].
  pose proof (exchange_moves_by_2_chat (clip M) (clip_nonneg M_sound) (public M h)
    (centre M (public M h)) (row h) refs j x y). unfold clamp. simpl Z.of_nat. lia.
Qed.
End Batch.
End Mechanism.

(* The theorem's numbers: lambda = Chat kappa (1 + 10^-9), kappa = g / (tau B 2^F), C = g Chat / 2^F, g the gain of step 37. *)
Lemma step_37_rho_with_gain (T : nat) (g Chat B tau scale margin : R) : 0 < B -> 0 < tau -> 0 < scale ->
  let kappa := g / (tau * B * scale) in
  let C := g * Chat / scale in
  rho_of (Chat * kappa * (1 + margin)) T = INR T * C ^ 2 / (2 * B ^ 2 * tau ^ 2) * (1 + margin) ^ 2.
Proof. intros. unfold rho_of, eta_of, kappa, C. field. lra. Qed.
