(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 39: a record is drawn to a batch by a secret lot, a share q of the batches is used: of (epsilon, delta) the run has ln(1+q(e^epsilon-1)), q delta.
   It holds both ways, for dp/invisibleink.c under both accountants; that a batch drops the rows beyond a public cap goes into delta. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_03_sum step_05_bounded_range step_06_zcdp step_08_composition
  step_09_conversion step_10_exact theorem_invisibleink.
Import ListNotations.
Open Scope R_scope.

(* H_a(P || Q): the most by which an event is likelier under P than a times its chance under Q. *)
Definition hockey_stick {T} (l : list T) (a : R) (P Q : T -> R) : R := sum (fun y => Rmax 0 (P y - a * Q y)) l.

Lemma step_39_hockey_stick {T} (l : list T) a delta P Q :
  (forall event, chance l P event <= a * chance l Q event + delta) <-> hockey_stick l a P Q <= delta.
Proof.
  split; intros H.
  - specialize (H (fun y => if Rlt_dec (a * Q y) (P y) then true else false)). revert H.
    unfold chance, hockey_stick. rewrite <- sum_scal. intros H.
    assert (E : sum (fun y => Rmax 0 (P y - a * Q y)) l =
      sum (fun y => if (if Rlt_dec (a * Q y) (P y) then true else false) then P y else 0) l +
      -1 * sum (fun y => a * (if (if Rlt_dec (a * Q y) (P y) then true else false) then Q y else 0)) l).
    { rewrite <- sum_scal, <- sum_plus. apply sum_ext. intros y _.
      destruct (Rlt_dec (a * Q y) (P y)); [rewrite Rmax_right|rewrite Rmax_left]; lra. }
    lra.
  - intros event. apply Rle_trans with (a * chance l Q event + hockey_stick l a P Q); [|lra].
    unfold chance, hockey_stick. rewrite <- sum_scal, <- sum_plus. apply sum_le. intros y _.
    pose proof (Rmax_l 0 (P y - a * Q y)). pose proof (Rmax_r 0 (P y - a * Q y)).
    destruct (event y); lra.
Qed.

Lemma hockey_stick_ext {T} (l : list T) a P P' Q Q' :
  (forall y, In y l -> P y = P' y) -> (forall y, In y l -> Q y = Q' y) ->
  hockey_stick l a P Q = hockey_stick l a P' Q'.
Proof. intros HP HQ. apply sum_ext. intros y Hy. rewrite HP, HQ; auto. Qed.

Lemma hockey_stick_falls {T} (l : list T) a b P Q : (forall y, In y l -> 0 <= Q y) -> a <= b ->
  hockey_stick l b P Q <= hockey_stick l a P Q.
Proof.
  intros HQ H. apply sum_le. intros y Hy. apply Rle_max_compat_l.
  pose proof (Rmult_le_compat_r (Q y) a b (HQ y Hy) H). lra.
Qed.

(* The run: with chance q the record is in a batch that is used, where the law is Q, and else it is nowhere. *)
Definition mixed {T} (q : R) (P0 Q : T -> R) (y : T) : R := (1 - q) * P0 y + q * Q y.
Definition amplified (q E : R) : R := 1 + q * (E - 1).
Definition run_eps (q eps : R) : R := ln (amplified q (exp eps)).
Definition batch_eps (q eps : R) : R := ln (1 + (exp eps - 1) / q).

(* What is asked for becomes what each batch may have, and comes back. *)
Lemma step_39_calibration q eps : 0 < q -> 0 <= eps -> run_eps q (batch_eps q eps) = eps /\ 0 <= batch_eps q eps.
Proof.
  intros Hq He. assert (1 <= exp eps) by (rewrite <- exp_0; apply exp_le; auto).
  assert (0 <= (exp eps - 1) / q) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; auto]).
  unfold run_eps, batch_eps, amplified. rewrite exp_ln by lra. split.
  - replace (1 + q * (1 + (exp eps - 1) / q - 1)) with (exp eps) by (field; lra). apply ln_exp.
  - rewrite <- ln_1. destruct (Rle_lt_or_eq_dec 0 ((exp eps - 1) / q) H0) as [L|<-]; [|rewrite Rplus_0_r; lra].
    apply Rlt_le, ln_increasing; lra.
Qed.

Theorem step_39_forward {T} (l : list T) q E P0 Q : 0 <= q ->
  hockey_stick l (amplified q E) (mixed q P0 Q) P0 = q * hockey_stick l E Q P0.
Proof.
  intros Hq. unfold hockey_stick. rewrite <- sum_scal. apply sum_ext. intros y _.
  rewrite <- RmaxRmult, Rmult_0_r by auto. f_equal. unfold mixed, amplified. ring.
Qed.

(* The other way round: with c = 1 - (1-q)(E-1), either c <= 0 and there is nothing, or E' - cE = (1-q)(E-1)^2 >= 0. *)
Theorem step_39_reverse {T} (l : list T) q E P0 Q : 0 <= q <= 1 -> 1 <= E ->
  (forall y, In y l -> 0 <= P0 y) -> (forall y, In y l -> 0 <= Q y) ->
  hockey_stick l (amplified q E) P0 (mixed q P0 Q) <= q * hockey_stick l E P0 Q.
Proof.
  intros Hq HE H0 HQ. unfold hockey_stick. rewrite <- sum_scal. apply sum_le. intros y Hy.
  specialize (H0 y Hy). specialize (HQ y Hy). set (c := 1 - (1 - q) * (E - 1)).
  pose proof (Rmax_l 0 (P0 y - E * Q y)). pose proof (Rmax_r 0 (P0 y - E * Q y)).
  assert (0 <= (1 - q) * (E - 1)) by (apply Rmult_le_pos; lra).
  assert (0 <= q * (E - 1)) by (apply Rmult_le_pos; lra).
  assert (Id : P0 y - amplified q E * mixed q P0 Q y = q * (c * P0 y - amplified q E * Q y))
    by (unfold c, amplified, mixed; ring).
  rewrite Id. apply Rmax_lub; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_l; [lra|].
  assert (gap : 0 <= amplified q E - c * E).
  { replace (amplified q E - c * E) with ((1 - q) * (E - 1) * (E - 1)) by (unfold amplified, c; ring).
    apply Rmult_le_pos; lra. }
  assert (0 <= (amplified q E - c * E) * Q y) by (apply Rmult_le_pos; lra).
  destruct (Rle_or_lt c 0) as [Neg|Pos].
  - assert (0 <= - c * P0 y) by (apply Rmult_le_pos; lra).
    assert (0 <= amplified q E * Q y) by (apply Rmult_le_pos; unfold amplified; lra). lra.
  - assert (c <= 1) by (unfold c; lra).
    assert (c * (P0 y - E * Q y) <= c * Rmax 0 (P0 y - E * Q y)) by (apply Rmult_le_compat_l; lra).
    assert (c * Rmax 0 (P0 y - E * Q y) <= 1 * Rmax 0 (P0 y - E * Q y)) by (apply Rmult_le_compat_r; lra).
    lra.
Qed.

(* The mean over equally likely cases. *)
Definition mean {U} (l : list U) (f : U -> R) : R := / INR (length l) * sum f l.

Section Means.
Context {U : Type}.
Implicit Types (l : list U) (f g : U -> R).

Lemma length_pos l : l <> [] -> 0 < INR (length l).
Proof. intros H. apply lt_0_INR. destruct l; [congruence|simpl; lia]. Qed.

Lemma mean_ext f g l : (forall u, In u l -> f u = g u) -> mean l f = mean l g.
Proof. intros H. unfold mean. rewrite (sum_ext f g); auto. Qed.

Lemma inv_length_nonneg l : 0 <= / INR (length l).
Proof.
  destruct l as [|u l]; [simpl; rewrite Rinv_0; lra|]. apply Rlt_le, Rinv_0_lt_compat, length_pos. congruence.
Qed.

Lemma mean_le f g l : (forall u, In u l -> f u <= g u) -> mean l f <= mean l g.
Proof. intros H. apply Rmult_le_compat_l; [apply inv_length_nonneg|]. apply sum_le; auto. Qed.

Lemma mean_const c l : l <> [] -> mean l (fun _ => c) = c.
Proof. intros H. unfold mean. rewrite sum_const. pose proof (length_pos l H). field; lra. Qed.

Lemma mean_nonneg f l : (forall u, In u l -> 0 <= f u) -> 0 <= mean l f.
Proof. intros H. apply Rmult_le_pos; [apply inv_length_nonneg|apply sum_nonneg; auto]. Qed.

Lemma mean_scal c f l : mean l (fun u => c * f u) = c * mean l f.
Proof. unfold mean. rewrite sum_scal. ring. Qed.

Lemma mean_plus f g l : mean l (fun u => f u + g u) = mean l f + mean l g.
Proof. unfold mean. rewrite sum_plus. ring. Qed.

Lemma mean_map {S} (h : S -> U) f (l : list S) : mean (map h l) f = mean l (fun s => f (h s)).
Proof. unfold mean. rewrite map_length, sum_map. auto. Qed.

Lemma sum_of_means {T} (F : T -> U -> R) (m : list T) l : sum (fun y => mean l (F y)) m = mean l (fun u => sum (fun y => F y u) m).
Proof. unfold mean. rewrite sum_scal, sum_swap. auto. Qed.

(* Where some of the cases are all alike. *)
Lemma mean_split (used : U -> bool) f p0 l : l <> [] ->
  mean l (fun u => if used u then f u else p0) =
  (1 - INR (length (filter used l)) / INR (length l)) * p0 +
  INR (length (filter used l)) / INR (length l) * mean (filter used l) f.
Proof.
  intros H. pose proof (length_pos l H). unfold mean.
  assert (K : sum (fun u => if used u then f u else p0) l =
              sum f (filter used l) + (INR (length l) - INR (length (filter used l))) * p0).
  { clear H H0. induction l as [|u l IH]; [simpl; ring|]. simpl filter. simpl length at 1.
    rewrite S_INR. simpl sum at 1. rewrite IH. destruct (used u); [|ring].
    simpl length. rewrite S_INR. simpl sum. ring. }
  rewrite K. destruct (filter used l) as [|u m] eqn:E.
  - change (sum f []) with 0. change (INR (length (@nil U))) with 0. rewrite !Rmult_0_r. field; lra.
  - pose proof (length_pos (u :: m) ltac:(congruence)) as P. revert P.
    generalize (INR (length (u :: m))) (sum f (u :: m)). intros k s P. field. lra.
Qed.
End Means.

(* H is jointly convex: who is told what both worlds have in common learns no less. *)
Lemma step_39_joint_convexity {T U} (l : list T) (us : list U) a d (P Q : U -> T -> R) : us <> [] ->
  (forall u, In u us -> hockey_stick l a (P u) (Q u) <= d) ->
  hockey_stick l a (fun y => mean us (fun u => P u y)) (fun y => mean us (fun u => Q u y)) <= d.
Proof.
  intros N H. rewrite <- (mean_const d us N).
  apply Rle_trans with (mean us (fun u => hockey_stick l a (P u) (Q u))); [|apply mean_le; auto].
  unfold hockey_stick. rewrite <- sum_of_means. apply sum_le. intros y _. apply Rmax_lub.
  - apply mean_nonneg. intros; apply Rmax_l.
  - replace (mean us (fun u => P u y) - a * mean us (fun u => Q u y)) with (mean us (fun u => P u y + - a * Q u y))
      by (rewrite mean_plus, mean_scal; ring).
    apply mean_le. intros u _. pose proof (Rmax_r 0 (P u y - a * Q u y)). lra.
Qed.

(* All other lots are fixed. The record is drawn to one of some batches, of which some are used; null is the law without it. *)
Section OneRecord.
Context {T : Type}.
Variable l : list T.
Variable batches : list nat.
Variable used : nat -> bool.
Variable null : T -> R.
Variable full : nat -> T -> R.
Variables (q E d : R).
Definition share : R := INR (length (filter used batches)) / INR (length batches).
Hypothesis some_batch : batches <> [].
Hypothesis share_q : share <= q.
Hypothesis E_one : 1 <= E.
Hypothesis d_nonneg : 0 <= d.
Hypothesis null_nonneg : forall y, In y l -> 0 <= null y.
Hypothesis full_nonneg : forall b y, In y l -> 0 <= full b y.
Hypothesis unused : forall b y, used b = false -> full b y = null y.
Hypothesis batch_forward : forall b, In b batches -> used b = true -> hockey_stick l E (full b) null <= d.
Hypothesis batch_reverse : forall b, In b batches -> used b = true -> hockey_stick l E null (full b) <= d.

Definition drawn (y : T) : R := mean batches (fun b => full b y).
Let Q (y : T) : R := mean (filter used batches) (fun b => full b y).

Lemma share_range : 0 <= share <= 1.
Proof.
  pose proof (length_pos batches some_batch). unfold share. split.
  - apply Rmult_le_pos; [apply pos_INR|]. apply Rlt_le, Rinv_0_lt_compat; auto.
  - apply Rmult_le_reg_r with (INR (length batches)); auto. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply le_INR.
    clear. induction batches as [|b m IH]; simpl; [lia|]. destruct (used b); simpl; lia.
Qed.

Lemma drawn_is_mixed y : In y l -> drawn y = mixed share null Q y.
Proof.
  intros Hy. unfold drawn. rewrite (mean_ext _ (fun b => if used b then full b y else null y)).
  - apply mean_split; auto.
  - intros b _. destruct (used b) eqn:U; auto.
Qed.

Lemma drawn_nonneg y : In y l -> 0 <= drawn y.
Proof. intros Hy. apply mean_nonneg. intros; auto. Qed.

Lemma used_batches : share * hockey_stick l E Q null <= share * d /\ share * hockey_stick l E null Q <= share * d.
Proof.
  pose proof share_range. destruct (Nat.eq_dec (length (filter used batches)) 0) as [Z|Z].
  - unfold share. rewrite Z. simpl. unfold Rdiv. rewrite !Rmult_0_l. lra.
  - assert (N : filter used batches <> []) by (intros F; rewrite F in Z; auto).
    split; (apply Rmult_le_compat_l; [lra|]).
    + rewrite (hockey_stick_ext l E Q Q null (fun y => mean (filter used batches) (fun _ => null y)))
        by (intros; rewrite ?mean_const; auto).
      apply step_39_joint_convexity; auto. intros u Hu. apply filter_In in Hu. apply batch_forward; tauto.
    + rewrite (hockey_stick_ext l E null (fun y => mean (filter used batches) (fun _ => null y)) Q Q)
        by (intros; rewrite ?mean_const; auto).
      apply step_39_joint_convexity; auto. intros u Hu. apply filter_In in Hu. apply batch_reverse; tauto.
Qed.

Theorem step_39_one_record :
  hockey_stick l (amplified q E) drawn null <= q * d /\ hockey_stick l (amplified q E) null drawn <= q * d.
Proof.
  pose proof share_range. destruct used_batches as [F R].
  assert (share * d <= q * d) by (apply Rmult_le_compat_r; auto).
  assert (A : amplified share E <= amplified q E).
  { unfold amplified. assert (share * (E - 1) <= q * (E - 1)) by (apply Rmult_le_compat_r; lra). lra. }
  split.
  - apply Rle_trans with (hockey_stick l (amplified share E) drawn null); [apply hockey_stick_falls; auto|].
    rewrite (hockey_stick_ext _ _ _ (mixed share null Q) _ null) by auto using drawn_is_mixed.
    rewrite step_39_forward by lra. lra.
  - apply Rle_trans with (hockey_stick l (amplified share E) null drawn); [apply hockey_stick_falls; auto using drawn_nonneg|].
    rewrite (hockey_stick_ext _ _ _ null _ (mixed share null Q)) by auto using drawn_is_mixed.
    eapply Rle_trans; [apply step_39_reverse; auto; try lra|lra].
    intros y Hy. apply mean_nonneg. intros; auto.
Qed.
End OneRecord.

(* All lots that can come out: record i is drawn to one of the batches that stand i-th, each as likely as the other.
   A batch may stand there more often than another: so 2^128 values modulo M are such a list. *)
Fixpoint lots_of (choices : list (list nat)) : list (list nat) :=
  match choices with
  | [] => [[]]
  | batches :: choices => flat_map (fun b => map (cons b) (lots_of choices)) batches
  end.

Lemma mean_of_lots batches choices f :
  mean (lots_of (batches :: choices)) f = mean batches (fun b => mean (lots_of choices) (fun v => f (b :: v))).
Proof.
  unfold mean. simpl lots_of. rewrite sum_flat_map.
  assert (K : length (flat_map (fun b => map (cons b) (lots_of choices)) batches) =
              (length batches * length (lots_of choices))%nat).
  { induction batches as [|b m IH]; simpl; auto. rewrite app_length, map_length, IH. auto. }
  rewrite K, mult_INR, Rinv_mult, (sum_ext _ (fun b => sum (fun v => f (b :: v)) (lots_of choices))).
  - rewrite sum_scal. ring.
  - intros b _. apply sum_map.
Qed.

(* Record j's lot is independent of all others. *)
Lemma step_39_lots_are_independent batches after before f :
  mean (lots_of (before ++ batches :: after)) f =
  mean (lots_of before) (fun u => mean (lots_of after) (fun v => mean batches (fun b => f (u ++ b :: v)))).
Proof.
  revert f. induction before as [|c before IH]; intros f.
  - simpl app. rewrite mean_of_lots. unfold mean at 3. simpl. rewrite Rinv_1, Rplus_0_r, Rmult_1_l.
    unfold mean. rewrite !sum_scal, sum_swap. ring.
  - simpl app. rewrite !mean_of_lots. apply mean_ext. intros b _. rewrite IH. auto.
Qed.

Lemma lots_length choices : forall v, In v (lots_of choices) -> length v = length choices.
Proof.
  induction choices as [|c m IH]; simpl; intros v Hv; [destruct Hv as [<-|[]]; auto|].
  apply in_flat_map in Hv. destruct Hv as (b & _ & Hv). apply in_map_iff in Hv.
  destruct Hv as (v' & <- & Hv). simpl. rewrite IH; auto.
Qed.

Lemma some_lots choices : (forall c, In c choices -> c <> []) -> lots_of choices <> [].
Proof.
  induction choices as [|c m IH]; intros H; simpl; [congruence|].
  specialize (IH ltac:(intros; apply H; simpl; auto)).
  pose proof (H c ltac:(simpl; auto)). destruct c as [|b c]; [congruence|].
  simpl. destruct (lots_of m); simpl; congruence.
Qed.

Lemma blank_here {X} (before after : list (option X)) r :
  blank (before ++ r :: after) (length before) = before ++ None :: after.
Proof.
  unfold blank. rewrite firstn_app, skipn_app, Nat.sub_diag, firstn_all, skipn_all. simpl. rewrite app_nil_r. auto.
Qed.

(* The run of dp/invisibleink.c over all batches is one sequence of tokens. Each token is of a batch, and sees that batch's rows alone;
   the past may be earlier batches' texts. *)
Section Run.
Context {Token Reference : Type}.
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.
Variable batch_of : list Token -> nat.
Variable used : nat -> bool.
Hypothesis only_used : forall h, used (batch_of h) = true.
Variables n T : nat.
(* No batch draws more than T tokens that look. *)
Let looks_in (b : nat) (h : list Token) : bool := (looks M h && Nat.eqb (batch_of h) b)%bool.
Definition capped_each : Prop := forall b t, In t (outputs M n) -> (looked (looks_in b) [] t <= T)%nat.
Hypothesis cap : capped_each.

(* A record with its lot. A row of another batch is not there. *)
Definition row_of (h : list Token) (x : nat * Reference) : option (Token -> Z) :=
  if Nat.eqb (batch_of h) (fst x) then row h (snd x) else None.

Fixpoint with_lots (lots : list nat) (records : list (option Reference)) : list (option (nat * Reference)) :=
  match lots, records with
  | b :: lots, x :: records => option_map (pair b) x :: with_lots lots records
  | _, _ => []
  end.

Lemma with_lots_app u v before after : length u = length before ->
  with_lots (u ++ v) (before ++ after) = with_lots u before ++ with_lots v after.
Proof.
  revert before; induction u as [|b u IH]; intros [|x before] H; simpl in *; auto; try lia.
  rewrite IH; auto.
Qed.

Lemma with_lots_length u before : length u = length before -> length (with_lots u before) = length before.
Proof. revert before; induction u as [|b u IH]; intros [|x before] H; simpl in *; auto; lia. Qed.

(* One law for each outcome of the lots; and the run's, whose lots nobody has seen. *)
Definition told (records : list (option Reference)) (lots : list nat) : list Token -> R :=
  world M row_of (with_lots lots records).
Definition run (choices : list (list nat)) (records : list (option Reference)) (t : list Token) : R :=
  mean (lots_of choices) (fun lots => told records lots t).

Section Record_j.
Variables (before after : list (option Reference)) (x : option Reference) (u v : list nat).
Hypothesis u_length : length u = length before.
Let records := before ++ x :: after.
Let records' := before ++ None :: after.

(* Without the record it is all one where it would have been drawn to. *)
Lemma null_has_no_lot b c : told records' (u ++ b :: v) = told records' (u ++ c :: v).
Proof. unfold told, records'. rewrite !with_lots_app by auto. auto. Qed.

(* A record moves the sums of its own batch's steps alone. *)
Lemma other_steps b h y : looks_in b h = false ->
  next M row_of (with_lots (u ++ b :: v) records) h y = next M row_of (with_lots (u ++ b :: v) records') h y.
Proof.
  intros F. unfold next, law, weights, weight.
  assert (S : forall z, private_sum M row_of (with_lots (u ++ b :: v) records) h z =
                        private_sum M row_of (with_lots (u ++ b :: v) records') h z).
  { intros z. unfold private_sum. destruct (looks M h) eqn:L; auto. f_equal.
    unfold records, records'. rewrite !with_lots_app, !total_app by auto. f_equal. simpl. f_equal.
    destruct x as [r|]; simpl; auto. unfold row_of; simpl.
    unfold looks_in in F. rewrite L in F. simpl in F. rewrite F. auto. }
  rewrite S. f_equal. apply sum_ext. intros z _. rewrite S. auto.
Qed.

Lemma told_unused b t : used b = false -> told records (u ++ b :: v) t = told records' (u ++ b :: v) t.
Proof.
  intros U. unfold told, world. generalize (@nil Token). induction t as [|y t IH]; intros h; simpl; auto.
  rewrite IH. f_equal. apply other_steps. unfold looks_in.
  destruct (Nat.eqb_spec (batch_of h) b) as [<-|]; [rewrite only_used in U; discriminate|apply Bool.andb_false_r].
Qed.

Lemma told_apart b h : apart (clip M) 1 (private_sum M row_of (with_lots (u ++ b :: v) records) h)
  (private_sum M row_of (with_lots (u ++ b :: v) records') h).
Proof.
  pose proof (blank_apart M row_of M_sound (with_lots (u ++ b :: v) records) (length u) h) as K.
  replace (with_lots (u ++ b :: v) records') with (blank (with_lots (u ++ b :: v) records) (length u)); auto.
  unfold records, records'. rewrite !with_lots_app by auto. simpl.
  rewrite u_length, <- (with_lots_length u before), blank_here; auto.
Qed.

Lemma told_exact_here V b eps : 0 < ratio M -> obeys_recursion (eta_of (ratio M)) V ->
  eps_delta (outputs M n) eps (V T (exp eps)) (told records (u ++ b :: v)) (told records' (u ++ b :: v)) /\
  eps_delta (outputs M n) eps (V T (exp eps)) (told records' (u ++ b :: v)) (told records (u ++ b :: v)).
Proof.
  intros Hl HV. assert (0 < eta_of (ratio M)) by (unfold eta_of; lra).
  split; apply step_10_eps_delta with (eta := eta_of (ratio M)) (looks := looks_in b); auto using next_is_law;
    try (intros t Ht; apply cap; auto).
  1,3: intros h _; replace (eta_of (ratio M)) with (INR 1 * eta_of (ratio M)) by (simpl; ring);
    apply next_range; auto; first [apply told_apart|apply apart_sym, told_apart].
  all: intros; rewrite other_steps; auto.
Qed.

Lemma told_zcdp_here b : zcdp (outputs M n) (rho_of (ratio M) T) (told records (u ++ b :: v)) (told records' (u ++ b :: v)) /\
  zcdp (outputs M n) (rho_of (ratio M) T) (told records' (u ++ b :: v)) (told records (u ++ b :: v)).
Proof.
  unfold rho_of. pose proof (pow2_ge_0 (eta_of (ratio M))).
  split; apply step_8_capped with (looks := looks_in b); auto using next_is_law; try lra;
    try (intros t Ht; apply cap; auto).
  1,3: intros h _; apply step_6_zcdp; try apply next_is_law; auto;
    replace (eta_of (ratio M)) with (INR 1 * eta_of (ratio M)) by (simpl; ring);
    apply next_range; auto; first [apply told_apart|apply apart_sym, told_apart].
  all: intros; rewrite other_steps; auto.
Qed.
End Record_j.

Lemma told_nonneg records lots t : In t (outputs M n) -> 0 <= told records lots t.
Proof. intros Ht. apply Rlt_le. apply (joint_is_law (tokens M) _ n [] (next_is_law M row_of M_sound _)); auto. Qed.

(* A batch's theorem, lots told, for both accountants: it is about that batch's steps. *)
Lemma told_here (claim : (list Token -> R) -> (list Token -> R) -> Prop) records lots j :
  (j < length records)%nat -> length lots = length records ->
  (forall before after x u v b, length u = length before ->
    claim (told (before ++ x :: after) (u ++ b :: v)) (told (before ++ None :: after) (u ++ b :: v))) ->
  claim (told records lots) (told (blank records j) lots).
Proof.
  intros Hj L H.
  destruct (nth_split lots 0%nat (n := j) ltac:(lia)) as (u & v & El & Lu).
  destruct (nth_split records None (n := j) ltac:(lia)) as (before & after & Er & Lr).
  set (b := nth j lots 0%nat) in *. set (x := nth j records None) in *. clearbody b x. subst lots records.
  rewrite <- Lr at 1. rewrite blank_here. apply H. lia.
Qed.

(* The link: what each batch has, lots told, the run has amplified, against who has not seen the record's own lot. *)
Section Link.
Variables (choices : list (list nat)) (records : list (option Reference)) (j : nat).
Hypothesis j_there : (j < length records)%nat.
Hypothesis as_many : length choices = length records.
Hypothesis some_batch : forall c, In c choices -> c <> [].
Variables (eps delta q : R).
Hypothesis eps_nonneg : 0 <= eps.
Hypothesis share_q : share (nth j choices []) used <= q.
Hypothesis each_batch : forall lots, In lots (lots_of choices) ->
  eps_delta (outputs M n) eps delta (told records lots) (told (blank records j) lots) /\
  eps_delta (outputs M n) eps delta (told (blank records j) lots) (told records lots).

Theorem step_39_run :
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run choices records) (run choices (blank records j)) /\
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run choices (blank records j)) (run choices records).
Proof.
  set (c := nth j choices []) in *.
  destruct (nth_split choices [] (n := j) ltac:(lia)) as (cb & ca & Ec & Lc). fold c in Ec.
  destruct (nth_split records None (n := j) ltac:(lia)) as (before & after & Er & Lr).
  set (x := nth j records None) in *.
  assert (Eb : blank records j = before ++ None :: after) by (rewrite Er, <- Lr; apply blank_here).
  assert (Nc : c <> []) by (apply some_batch; rewrite Ec; apply in_or_app; simpl; auto).
  assert (Nb : lots_of cb <> []) by (apply some_lots; intros d Hd; apply some_batch; rewrite Ec; apply in_or_app; auto).
  assert (Na : lots_of ca <> []) by (apply some_lots; intros d Hd; apply some_batch; rewrite Ec; apply in_or_app; simpl; auto).
  assert (E1 : 1 <= exp eps) by (rewrite <- exp_0; apply exp_le; auto).
  pose proof (share_range c used Nc).
  assert (A1 : 0 < amplified q (exp eps)).
  { unfold amplified. assert (0 <= q * (exp eps - 1)) by (apply Rmult_le_pos; lra). lra. }
  assert (split_run : forall r t, run choices r t =
    mean (lots_of cb) (fun u => mean (lots_of ca) (fun v => mean c (fun b => told r (u ++ b :: v) t)))).
  { intros r t. unfold run. rewrite Ec. apply step_39_lots_are_independent. }
  assert (In_lots : forall u v b, In u (lots_of cb) -> In v (lots_of ca) -> In b c -> In (u ++ b :: v) (lots_of choices)).
  { intros u v b Hu Hv Hb. rewrite Ec. clear -Hu Hv Hb. revert u Hu. induction cb as [|d m IH]; simpl; intros u Hu.
    - destruct Hu as [<-|[]]. simpl. apply in_flat_map. exists b; split; auto. apply in_map; auto.
    - apply in_flat_map in Hu. destruct Hu as (e & He & Hu). apply in_map_iff in Hu. destruct Hu as (u' & <- & Hu).
      apply in_flat_map. exists e; split; auto. simpl. apply in_map. auto. }
  (* one outcome of the others' lots *)
  assert (One : forall u v, In u (lots_of cb) -> In v (lots_of ca) ->
    hockey_stick (outputs M n) (amplified q (exp eps)) (fun t => mean c (fun b => told records (u ++ b :: v) t))
      (fun t => mean c (fun b => told (blank records j) (u ++ b :: v) t)) <= q * delta /\
    hockey_stick (outputs M n) (amplified q (exp eps)) (fun t => mean c (fun b => told (blank records j) (u ++ b :: v) t))
      (fun t => mean c (fun b => told records (u ++ b :: v) t)) <= q * delta).
  { intros u v Hu Hv. assert (Lu : length u = length before) by (rewrite (lots_length cb); auto; lia).
    destruct c as [|b0 c'] eqn:Cb; [congruence|]. rewrite <- Cb in *. assert (Hb0 : In b0 c) by (rewrite Cb; simpl; auto).
    set (null := told (blank records j) (u ++ b0 :: v)).
    assert (Null : forall t, mean c (fun b => told (blank records j) (u ++ b :: v) t) = null t).
    { intros t. rewrite (mean_ext _ (fun _ => null t)); [apply mean_const; auto|].
      intros b _. unfold null. rewrite Eb. rewrite (null_has_no_lot before after u v Lu b b0). auto. }
    assert (d0 : 0 <= delta).
    { destruct (each_batch (u ++ b0 :: v) (In_lots u v b0 Hu Hv Hb0)) as [K _]. specialize (K (fun _ => false)).
      unfold chance in K. rewrite !sum_zero in K by auto. lra. }
    assert (Both : forall b, In b c -> hockey_stick (outputs M n) (exp eps) (told records (u ++ b :: v)) null <= delta /\
                                       hockey_stick (outputs M n) (exp eps) null (told records (u ++ b :: v)) <= delta).
    { intros b Hb. destruct (each_batch _ (In_lots u v b Hu Hv Hb)) as [F R].
      unfold null. rewrite Eb in *. rewrite (null_has_no_lot before after u v Lu b0 b).
      split; apply step_39_hockey_stick; [exact F|exact R]. }
    rewrite !(hockey_stick_ext _ _ _ _ _ _ (fun t _ => eq_refl) (fun t _ => Null t)).
    destruct (step_39_one_record (outputs M n) c used null (fun b => told records (u ++ b :: v)) q (exp eps) delta Nc) as [F R];
      auto; try (intros; apply told_nonneg; auto).
    - intros b t U. unfold null. rewrite Eb, (null_has_no_lot before after u v Lu b0 b), Er. apply told_unused; auto.
    - intros b Hb _. apply Both; auto.
    - intros b Hb _. apply Both; auto.
    - split; auto. rewrite (hockey_stick_ext _ _ _ _ _ _ (fun t _ => Null t) (fun t _ => eq_refl)). auto. }
  unfold run_eps, eps_delta. rewrite exp_ln by auto.
  split; apply step_39_hockey_stick.
  - rewrite (hockey_stick_ext _ _ _ _ _ _ (fun t _ => split_run records t) (fun t _ => split_run (blank records j) t)).
    apply step_39_joint_convexity; auto. intros u Hu. apply step_39_joint_convexity; auto. intros v Hv. exact (proj1 (One u v Hu Hv)).
  - rewrite (hockey_stick_ext _ _ _ _ _ _ (fun t _ => split_run (blank records j) t) (fun t _ => split_run records t)).
    apply step_39_joint_convexity; auto. intros u Hu. apply step_39_joint_convexity; auto. intros v Hv. exact (proj2 (One u v Hu Hv)).
Qed.
End Link.

Section Accountants.
Variables (choices : list (list nat)) (records : list (option Reference)) (j : nat).
Hypothesis j_there : (j < length records)%nat.
Hypothesis as_many : length choices = length records.
Hypothesis some_batch : forall c, In c choices -> c <> [].
Variable q : R.
Hypothesis q_pos : 0 < q.
Hypothesis share_q : share (nth j choices []) used <= q.

(* The profile of the run, from the accountant exact: at every epsilon' >= 0, both ways. *)
Theorem step_39_exact V eps : 0 < ratio M -> obeys_recursion (eta_of (ratio M)) V -> 0 <= eps ->
  eps_delta (outputs M n) eps (q * V T (1 + (exp eps - 1) / q)) (run choices records) (run choices (blank records j)) /\
  eps_delta (outputs M n) eps (q * V T (1 + (exp eps - 1) / q)) (run choices (blank records j)) (run choices records).
Proof.
  intros Hl HV He. destruct (step_39_calibration q eps q_pos He) as [E E0].
  assert (X : exp (batch_eps q eps) = 1 + (exp eps - 1) / q).
  { unfold batch_eps. apply exp_ln. assert (1 <= exp eps) by (rewrite <- exp_0; apply exp_le; auto).
    assert (0 <= (exp eps - 1) / q) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; auto]). lra. }
  rewrite <- E at 1 3. rewrite <- X. apply step_39_run; auto.
  intros lots Hv. pose proof (lots_length choices lots Hv).
  apply (told_here (fun P Q => eps_delta _ _ _ P Q /\ eps_delta _ _ _ Q P)); try lia.
  intros. apply told_exact_here; auto.
Qed.

Theorem step_39_zcdp eps alpha : 1 < alpha -> 0 <= eps ->
  let delta := delta_at (alpha * rho_of (ratio M) T) eps alpha in
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run choices records) (run choices (blank records j)) /\
  eps_delta (outputs M n) (run_eps q eps) (q * delta) (run choices (blank records j)) (run choices records).
Proof.
  intros Ha He delta. apply step_39_run; auto.
  intros lots Hv. pose proof (lots_length choices lots Hv).
  apply (told_here (fun P Q => eps_delta _ _ _ P Q /\ eps_delta _ _ _ Q P)); try lia.
  intros before after x u v b Lu. destruct (told_zcdp_here before after x u v Lu b) as [F R].
  split; apply step_9_zcdp_to_eps_delta; auto; apply joint_is_law, next_is_law; auto.
Qed.
End Accountants.

(* Who learns the record's lot (choices has one there) has what a batch has, and no worse. *)
Corollary step_39_known_lot choices records j eps delta :
  (j < length records)%nat -> length choices = length records -> (forall c, In c choices -> c <> []) -> 0 <= eps ->
  (forall lots, In lots (lots_of choices) ->
    eps_delta (outputs M n) eps delta (told records lots) (told (blank records j) lots) /\
    eps_delta (outputs M n) eps delta (told (blank records j) lots) (told records lots)) ->
  eps_delta (outputs M n) eps delta (run choices records) (run choices (blank records j)) /\
  eps_delta (outputs M n) eps delta (run choices (blank records j)) (run choices records).
Proof.
  intros Hj L N He H. rewrite <- (Rmult_1_l delta).
  replace eps with (run_eps 1 eps) by (unfold run_eps, amplified; rewrite <- (ln_exp eps) at 2; f_equal; ring).
  apply step_39_run; auto. apply share_range, N, nth_In. lia.
Qed.
End Run.

(* Rows beyond a public cap are dropped. The law is another one then, for lots that bring a batch so many. *)
Definition near {T} (l : list T) (p : R) (P P' : T -> R) : Prop :=
  forall event, Rabs (chance l P event - chance l P' event) <= p.

Theorem step_39_surplus {T} (l : list T) eps delta p (P Q P' Q' : T -> R) :
  near l p P P' -> near l p Q Q' -> eps_delta l eps delta P Q ->
  eps_delta l eps (delta + (1 + exp eps) * p) P' Q'.
Proof.
  intros HP HQ H A. specialize (HP A). specialize (HQ A). specialize (H A).
  pose proof (exp_pos eps).
  assert (both : forall x, Rabs x <= p -> - p <= x <= p) by (intros x; unfold Rabs; destruct (Rcase_abs x); lra).
  apply both in HP. apply both in HQ.
  assert (exp eps * chance l Q A <= exp eps * (chance l Q' A + p)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma chance_range {T} (l : list T) P event : is_law l P -> 0 <= chance l P event <= 1.
Proof.
  intros [H S]. unfold chance. split.
  - apply sum_nonneg. intros y Hy. specialize (H y Hy). destruct (event y); lra.
  - rewrite <- S. apply sum_le. intros y Hy. specialize (H y Hy). destruct (event y); lra.
Qed.

Lemma chance_of_mean {T U} (l : list T) (us : list U) (P : U -> T -> R) event :
  chance l (fun y => mean us (fun u => P u y)) event = mean us (fun u => chance l (P u) event).
Proof.
  unfold chance. rewrite <- sum_of_means. apply sum_ext. intros y _.
  destruct (event y); auto. unfold mean. rewrite sum_zero by auto. ring.
Qed.

Lemma step_39_only_where_full {T U} (l : list T) (us : list U) (fits : U -> bool) (P P' : U -> T -> R) :
  (forall u, is_law l (P u)) -> (forall u, is_law l (P' u)) ->
  (forall u y, fits u = true -> P' u y = P u y) ->
  near l (mean us (fun u => if fits u then 0 else 1)) (fun y => mean us (fun u => P u y)) (fun y => mean us (fun u => P' u y)).
Proof.
  intros HP HP' F A. rewrite !chance_of_mean.
  assert (K : forall S S' : U -> T -> R, (forall u, is_law l (S u)) -> (forall u, is_law l (S' u)) ->
    (forall u y, fits u = true -> S' u y = S u y) ->
    mean us (fun u => chance l (S u) A) - mean us (fun u => chance l (S' u) A) <= mean us (fun u => if fits u then 0 else 1)).
  { intros S S' HS HS' E.
    replace (mean us (fun u => chance l (S u) A) - mean us (fun u => chance l (S' u) A))
      with (mean us (fun u => chance l (S u) A + -1 * chance l (S' u) A)) by (rewrite mean_plus, mean_scal; ring).
    apply mean_le. intros u _. destruct (fits u) eqn:Fu.
    - right. assert (C : chance l (S' u) A = chance l (S u) A) by (apply sum_ext; intros y _; rewrite E; auto).
      rewrite C. ring.
    - pose proof (chance_range l (S u) A (HS u)). pose proof (chance_range l (S' u) A (HS' u)). lra. }
  pose proof (K P P' HP HP' F). pose proof (K P' P HP' HP ltac:(intros; symmetry; auto)).
  apply Rabs_le. lra.
Qed.

(* How likely that is: Chernoff's bound on a sum of independent draws, for each batch. *)
Definition rows_in (b : nat) (lots : list nat) : nat := count_occ Nat.eq_dec lots b.
Definition chance_of (b : nat) (batches : list nat) : R := mean batches (fun c => if Nat.eq_dec c b then 1 else 0).

Lemma power_of_rows b s choices : 1 <= s -> (forall c, In c choices -> c <> []) ->
  mean (lots_of choices) (fun lots => s ^ rows_in b lots) <= exp ((s - 1) * sum (chance_of b) choices).
Proof.
  intros Hs. induction choices as [|c m IH]; intros N.
  - unfold mean. simpl. rewrite Rinv_1, Rmult_0_r, exp_0. lra.
  - specialize (IH ltac:(intros; apply N; simpl; auto)). rewrite mean_of_lots. simpl sum.
    set (rest := mean (lots_of m) (fun lots => s ^ rows_in b lots)) in *.
    assert (R0 : 0 <= rest) by (apply mean_nonneg; intros; apply pow_le; lra).
    assert (E : mean c (fun a => mean (lots_of m) (fun v => s ^ rows_in b (a :: v))) = (1 + (s - 1) * chance_of b c) * rest).
    { rewrite <- (mean_const 1 c) at 1 by (apply N; simpl; auto). unfold chance_of.
      rewrite <- mean_scal, <- mean_plus. rewrite (Rmult_comm _ rest), <- mean_scal. apply mean_ext. intros a _.
      unfold rest. rewrite Rmult_comm, <- mean_scal. apply mean_ext. intros v _. unfold rows_in. simpl.
      destruct (Nat.eq_dec a b); simpl; ring. }
    rewrite E, Rmult_plus_distr_l, exp_plus. apply Rmult_le_compat; auto; [|apply exp_ineq1_le].
    assert (0 <= chance_of b c) by (apply mean_nonneg; intros a _; destruct (Nat.eq_dec a b); lra).
    assert (0 <= (s - 1) * chance_of b c) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma step_39_chernoff b choices cap mu : (forall c, In c choices -> c <> []) ->
  0 < mu -> sum (chance_of b) choices <= mu -> mu <= INR (S cap) ->
  let u := INR (S cap) / mu in
  mean (lots_of choices) (fun lots => if Nat.leb (rows_in b lots) cap then 0 else 1) <= exp (- (mu * (u * ln u - u + 1))).
Proof.
  intros N Hmu Hb Hcap u.
  assert (u1 : 1 <= u).
  { unfold u. apply Rmult_le_reg_r with mu; auto. replace (INR (S cap) / mu * mu) with (INR (S cap)) by (field; lra). lra. }
  assert (k : INR (S cap) = mu * u) by (unfold u; field; lra).
  assert (pw : u ^ S cap = exp (mu * u * ln u)).
  { rewrite <- k, <- Rpower_pow by lra. auto. }
  assert (up : 0 < u ^ S cap) by (rewrite pw; apply exp_pos).
  apply Rle_trans with (/ u ^ S cap * mean (lots_of choices) (fun lots => u ^ rows_in b lots)).
  - rewrite <- mean_scal. apply mean_le. intros lots _. destruct (Nat.leb_spec (rows_in b lots) cap).
    + apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat; auto|apply pow_le; lra].
    + rewrite <- (Rinv_l (u ^ S cap)) by lra. apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; auto|].
      apply Rle_pow; auto.
  - apply Rle_trans with (/ u ^ S cap * exp ((u - 1) * mu)).
    + apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; auto|].
      eapply Rle_trans; [apply power_of_rows; auto|]. apply exp_le, Rmult_le_compat_l; lra.
    + rewrite pw, <- exp_Ropp, <- exp_plus. right. f_equal. ring.
Qed.

(* All batches that are used together. *)
Theorem step_39_rows_cap batches choices cap mu : (forall c, In c choices -> c <> []) ->
  0 < mu -> (forall b, In b batches -> sum (chance_of b) choices <= mu) -> mu <= INR (S cap) ->
  let u := INR (S cap) / mu in
  mean (lots_of choices) (fun lots => if forallb (fun b => Nat.leb (rows_in b lots) cap) batches then 0 else 1)
    <= INR (length batches) * exp (- (mu * (u * ln u - u + 1))).
Proof.
  intros N Hmu Hb Hcap u. induction batches as [|b m IH].
  - simpl. unfold mean. rewrite sum_zero by auto. lra.
  - simpl length. rewrite S_INR. specialize (IH ltac:(intros; apply Hb; simpl; auto)).
    pose proof (step_39_chernoff b choices cap mu N Hmu (Hb b ltac:(simpl; auto)) Hcap) as C. fold u in C. cbv zeta in C.
    apply Rle_trans with (mean (lots_of choices) (fun lots => (if forallb (fun b => Nat.leb (rows_in b lots) cap) m then 0 else 1) +
      (if Nat.leb (rows_in b lots) cap then 0 else 1))).
    + apply mean_le. intros lots _. simpl. destruct (Nat.leb (rows_in b lots) cap), (forallb _ m); simpl; lra.
    + rewrite mean_plus. lra.
Qed.

(* Lots must be independent: with a permutation, which puts exactly one record into each batch, another record takes the place.
   Two records, two batches, one used; a batch is ln 3-private, both ways, for each record and null: the run would be within 2. *)
Definition one_row (row : option bool) (y : bool) : R :=
  match row with
  | None => if y then 1 / 4 else 3 / 4
  | Some true => if y then 3 / 4 else 1 / 4
  | Some false => if y then 1 / 12 else 11 / 12
  end.
Definition permuted (first second : option bool) (y : bool) : R := 1 / 2 * one_row first y + 1 / 2 * one_row second y.

Lemma step_39_permutation :
  (forall row y, one_row row y <= 3 * one_row None y /\ one_row None y <= 3 * one_row row y) /\
  amplified (1 / 2) 3 = 2 /\
  permuted (Some true) (Some false) true = 5 / 2 * permuted None (Some false) true.
Proof.
  split; [|unfold amplified, permuted, one_row; lra].
  intros [[|]|] [|]; unfold one_row; lra.
Qed.
