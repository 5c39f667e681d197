// SPDX-License-Identifier: Apache-2.0
// Charge, journal, draw, publish, resume: what workflow/run.c, delivery.c and spending.c, io/output/ and io/ledger/ do to files and
// ledger, as a model for Spin. README.md says what is walked, what is assumed and what is not shown; check.sh walks it.
//
// Each step(name) is one call of a C function, done whole or not at all; between any two of them a process may be killed, the power
// may be cut, and another process may do as much as it likes. tests/workflow/test_protocol.c stops the code at the same places, and
// demands what this model says (walks.txt). A run has two texts of one token each. Which token is drawn is who drew it: the number
// of the process, so a token that is drawn again is another one.
//
// What a walk allows is said by these numbers, which check.sh gives:
#ifndef LIVES
#define LIVES 3 /* processes, of which two run at a time; the last one runs alone and undisturbed */
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef CUTS
#define CUTS 0 /* power cuts: any of what is not synced may be lost */
#endif
#ifndef PLANS
#define PLANS 1 /* 1; 2: another command, too; 3: the same at another charge; 4: the same with another input */
#endif
#ifndef OUTPUTS
#define OUTPUTS 1 /* 2: all files of the first may be copied to the second, and go on there */
#endif
#ifndef KEPT
#define KEPT 0 /* 1: files are kept once, and put back from there, all or some of them; before that there are none */
#endif
#ifndef RESTORED
#define RESTORED 0 /* 1: the ledger is kept once, and put back from there, or begun anew */
#endif
#ifndef RELEASES
#define RELEASES 0 /* reservations that are given back */
#endif
#ifndef APPROVALS
#define APPROVALS 0 /* 1: a process may have been told that the first plan was approved, and nothing else */
#endif
#ifndef OVERWRITES
#define OVERWRITES 0 /* 1: a process may be told to overwrite */
#endif
#ifndef STOPS
#define STOPS 0 /* 1: a process may stop in order between two tokens */
#endif
#ifndef LIMIT
#define LIMIT LIVES /* charges that the ledger has room for */
#endif
#ifndef TAKEN
#define TAKEN 0 /* 1: TAKES is not asked for (README.md says where it does not hold) */
#endif
#ifndef COUNTED
#define COUNTED 1 /* 0: there is no ledger */
#endif

// A plan: command, charge, input. What the ledger is charged for has no part in the input, which the journal's first line binds.
#define command_of(p) ((p) == 2 -> 2 : 1)
#define loss_of(p) ((p) == 3 -> 2 : 1)
#define line_of(p) ((p) == 4 -> 3 : command_of(p)) /* the first line: command and digest; 3: the first command's, another digest */
#define same_command(l, p) ((l) == line_of(p) || ((l) != 2 && line_of(p) != 2))

// A journal: its first line (0: none, or torn), the key that its digest is under, its tokens (0: none).
typedef journal {
	bit there;
	byte line;
	byte key;
	byte first;
	byte second
};
#define take(to, from) \
	to.there = from.there; to.line = from.line; to.key = from.key; to.first = from.first; to.second = from.second
#define clear(j) j.there = 0; j.line = 0; j.key = 0; j.first = 0; j.second = 0
#define tokens_in(j) ((j.first != 0) + (j.second != 0))
#define equal(a, b) (a.there == b.there && a.line == b.line && a.key == b.key && a.first == b.first && a.second == b.second)
// Whether the journal begins with what the mark says. A mark is a journal as it was; not there: nobody told.
#define begins(j, m) \
	(!m.there || (j.line == m.line && j.key == m.key && (!m.first || j.first == m.first) && (!m.second || j.second == m.second)))

// The files of an output, as a process sees them; and as they would be after a power cut, where they are not the same.
typedef files {
	journal log;  /* OUT.journal */
	byte key;     /* OUT.journal.key */
	byte name;    /* OUT.run: the number of a charge */
	byte before;  /* OUT.run.before: the charge that OUT.run named before */
	byte receipt; /* whose it is: a command; 0: none */
	byte says;    /* the hash in it */
	byte out;     /* OUT's tokens, as a hash; 0: none */
	bit whole     /* OUT is all there */
};
files is[OUTPUTS], synced[OUTPUTS], copy;
bit copied;
#define hash_of(j) (j.first * 8 + j.second)
#define take_files(to, from) \
	take(to.log, from.log); to.key = from.key; to.name = from.name; to.before = from.before; \
	to.receipt = from.receipt; to.says = from.says; to.out = from.out; to.whole = from.whole
#define clear_files(f) \
	clear(f.log); f.key = 0; f.name = 0; f.before = 0; f.receipt = 0; f.says = 0; f.out = 0; f.whole = 0

#if CUTS
// All names in the folder become durable; what the files hold was synced before.
inline sync_folder(o) {
	synced[o].key = is[o].key; synced[o].name = is[o].name; synced[o].before = is[o].before;
	synced[o].receipt = is[o].receipt; synced[o].says = is[o].says;
	synced[o].out = is[o].out; synced[o].whole = is[o].whole;
	if
	:: !is[o].log.there -> clear(synced[o].log)
	:: else -> synced[o].log.there = 1
	fi
}
inline sync_journal(o) {
	take(synced[o].log, is[o].log)
}
#else
#define sync_folder(o) skip
#define sync_journal(o) skip
#endif

// The ledger. A commit is durable, and nobody sees half of one. A charge has the number of the process that made it.
#define UNKNOWN 0
#define RESERVED 1
#define DRAWN 2
#define CLOSED 3
#define RELEASED 4
typedef charge {
	byte state;
	byte command;
	byte loss;
	journal mark;
	byte output
};
charge ledger[LIVES + 1];
#if RESTORED
charge backup[LIVES + 1];
bit kept_ledger;
#endif
byte charges;
#define take_charge(to, from) \
	to.state = from.state; to.command = from.command; to.loss = from.loss; to.output = from.output; take(to.mark, from.mark)

// What is true of a charge, and no process knows.
typedef truth {
	byte plan;     /* of whom it was made */
	bit at;        /* for which output */
	bit given_up;  /* by what somebody did, not by a crash */
	byte line;     /* with which input its tokens were drawn */
	byte seen[2];  /* the token of each text that somebody may have seen */
	byte paid      /* what was put in place for it, as a hash */
};
truth true_of[LIVES + 1];

// What may still happen.
byte lives, kills_left = KILLS, cuts_left = CUTS, releases_left = RELEASES, restores_left = RESTORED, put_backs = KEPT;
bit alive[2], at[2]; /* of each of the two processes: whether it runs; its output */
byte holder[OUTPUTS]; /* who has the lock of OUT.journal: the process, plus 1; 0: nobody */
byte draws[2];        /* the charge that a process has drawn from */

#ifdef WALK
byte newest; /* charge */
// One process after the other, as check.sh says: what each does, before which step it dies, and how.
byte steps;
#define now(l, one, two, three) (l == 1 -> one : (l == 2 -> two : three))
#define step(name) \
	if :: steps == now(life, DIES1, DIES2, 255) -> goto dies :: else -> steps++ fi; \
	printf(#name); printf("\n")
#elif defined(TELL)
#define happens(what) printf(#what); printf("\n")
#define step(name) if :: !alive[me] -> goto gone :: else fi; printf("process %d: ", life); printf(#name); printf("\n")
#else
#define step(name) if :: !alive[me] -> goto gone :: else fi
#endif
#ifndef happens
#define happens(what) skip
#endif

// ---- what must hold -----------------------------------------------------------------------------

// Spin prints the number with what does not hold.
#define CHARGED 1 /* property */
#define ONE_TOKEN 2 /* property */
#define APPROVED 3 /* property */
#define ONE_INPUT 4 /* property */
#define WHOLE 5 /* property */
#define ONE_OUTPUT 6 /* property */
#define KNOWN 7 /* property */
#define ONCE 8 /* property */
#define WAITS 9 /* property */
#define TAKES 10 /* property */
#define HOLDS(property, what) assert((what) || property == 0)

// Somebody may see the token of a text: it is paid, it is the one token of this text for this charge, what was approved is what
// runs, and all that is paid by one charge was read from one input.
#define is_charged (ledger[r].state == DRAWN || ledger[r].state == CLOSED)
#define is_of_plan (ledger[r].command == command_of(plan) && ledger[r].loss == loss_of(plan))
#define is_approved (command_of(plan) == command_of(1) && ledger[r].loss == loss_of(1))
inline see(which, token) {
	d_step {
		HOLDS(CHARGED, !COUNTED || (is_charged && is_of_plan));
		HOLDS(ONE_TOKEN, !true_of[r].seen[which] || true_of[r].seen[which] == token);
		HOLDS(APPROVED, !approved || is_approved);
		HOLDS(ONE_INPUT, !true_of[r].line || true_of[r].line == line_of(plan));
		true_of[r].seen[which] = token;
		true_of[r].line = line_of(plan)
	}
}

inline see_text(one, other) {
	if
	:: text == 0 -> see(0, one)
	:: else -> see(1, other)
	fi
}

// One charge pays for one output, which is whole, and which the ledger knows.
#define hash_now hash_of(is[o].log)
inline put_in_place() {
	d_step {
		HOLDS(WHOLE, whole);
		HOLDS(ONE_OUTPUT, !true_of[r].paid || true_of[r].paid == hash_now);
		HOLDS(KNOWN, !COUNTED || (ledger[r].state == CLOSED && ledger[r].output == hash_now));
		true_of[r].paid = hash_now
	}
}

// Nobody pays twice for one run: a charge is made where there is none that it could go on with, unless somebody gave that up.
// Whoever pays for another run at this output gives it up; where it is another command, and no journal goes on, by --overwrite alone.
#define is_other(i) (command_of(true_of[i].plan) != command_of(plan))
#define could_go_on(i) (ledger[i].state && ledger[i].state != RELEASED && !true_of[i].given_up && !true_of[i].paid)
inline charge_it() {
	d_step {
		i = 1;
		do
		:: i > LIVES -> break
		:: else ->
			HOLDS(ONCE, !(could_go_on(i) && true_of[i].plan == plan && true_of[i].at == o));
			HOLDS(TAKES, over || stood || STOPS || TAKEN || !(could_go_on(i) && is_other(i) && true_of[i].at == o));
			if
			:: true_of[i].at == o -> true_of[i].given_up = 1
			:: else
			fi;
			i++
		od;
		i = 0;
		charges++;
		true_of[life].plan = plan;
		true_of[life].at = o;
		true_of[life].given_up = OUTPUTS > 1 && copied; /* who copies a run may pay for it twice */
		ledger[life].state = RESERVED;
#ifdef WALK
		newest = life;
#endif
		ledger[life].command = command_of(plan);
		ledger[life].loss = loss_of(plan)
	}
}

// ---- a process ----------------------------------------------------------------------------------

#define NEW 0
#define BEGUN 1
#define OURS 2
#define CHANGED 3
#define OTHER 4

// ledger_draw with the mark that the caller went on from. `good` says whether the ledger took it.
inline ledger_draw(before) {
	good = 1;
	if
	:: ledger[r].state == RESERVED -> ledger[r].state = DRAWN; take(ledger[r].mark, is[o].log)
	:: ledger[r].state == DRAWN && equal(before, ledger[r].mark) && equal(is[o].log, ledger[r].mark)
	:: ledger[r].state == DRAWN && equal(before, ledger[r].mark) && !equal(is[o].log, ledger[r].mark) &&
	   (!ledger[r].mark.there || tokens_in(is[o].log) > tokens_in(ledger[r].mark)) -> take(ledger[r].mark, is[o].log)
	:: else -> good = 0
	fi;
	if
	:: good -> take(told, is[o].log); drawn = 1
	:: else
	fi
}

proctype process(bit me) {
	byte life, plan, key, r, state, load, text, i;
	bit o, over, approved, keyed, stood, pays, paid, same, drawn, goes, appended, worthless, whole, good, older;
	journal told, found;

end_next:
	atomic {
		if
		:: lives < LIVES - 1
		:: lives == LIVES - 1 && me == 0 && !alive[1] -> kills_left = 0; cuts_left = 0; put_backs = 0; releases_left = 0; restores_left = 0
		fi;
		lives++;
		life = lives;
		alive[me] = 1;
		plan = 1;
#ifdef WALK
		steps = 0;
		plan = now(life, 1, PLAN2, PLAN3);
		over = now(life, 0, OVER2, OVER3);
		printf("process %d\n", life);
#endif
#if OUTPUTS > 1
		if :: o = 0 :: o = 1 fi;
#endif
#if PLANS > 1
		if
		:: plan = 1
		:: plan = 2
#if PLANS > 2
		:: plan = 3
#endif
#if PLANS > 3
		:: plan = 4
#endif
		fi;
#endif
#if OVERWRITES
		if :: over = 0 :: over = 1 fi;
#endif
#if APPROVALS
		if :: approved = 0 :: approved = 1 fi;
#endif
#ifdef TELL
		printf("process %d begins: plan %d, output %d, overwrite %d, approved %d\n", life, plan, o, over, approved);
#endif
		at[me] = o
	}

	// output_open
	atomic {
		step(journal_open);
		if
		:: holder[o] -> goto ended
		:: else -> holder[o] = me + 1
		fi;
		is[o].log.there = 1
	}
	atomic {
		step(binding_open);
		keyed = is[o].key != 0;
		key = (keyed -> is[o].key : life)
	}
	atomic {
		step(journal_load);
		if
		:: !is[o].log.line -> load = NEW
		:: is[o].log.line == line_of(plan) && is[o].log.key == key -> load = (is[o].log.first -> OURS : BEGUN)
		:: is[o].log.line && !(is[o].log.line == line_of(plan) && is[o].log.key == key) ->
			if
			:: same_command(is[o].log.line, plan) -> load = CHANGED
			:: else -> load = (is[o].log.first || is[o].name -> OTHER : NEW)
			fi
		fi;
		worthless = load == NEW;
		stood = load == BEGUN || load == OURS;
		if
		:: stood -> sync_journal(o); sync_folder(o)
		:: else
		fi;
		if
		:: is[o].out && is[o].whole && is[o].receipt == command_of(plan) && is[o].says == is[o].out ->
			// It is complete, whoever asks.
			if
			:: load == OTHER -> goto close
			:: else -> goto complete
			fi
		:: else
		fi;
		if
		:: !over && (is[o].out || load >= CHANGED || (is[o].receipt && is[o].receipt != command_of(plan)) ||
		             (is[o].receipt && load <= BEGUN)) -> goto close
		:: else
		fi;
		if
		:: load >= CHANGED && COUNTED -> pays = 1; goto reserve
		:: else
		fi
	}
keep:
	if
	:: keyed
	:: !keyed ->
		atomic { step(binding_keep_write); is[o].key = key; keyed = 1 }
	fi;
	atomic {
		step(binding_keep_sync);
		sync_folder(o);
		if
		:: stood -> goto opened
		:: else
		fi
	}
	atomic {
		step(ftruncate);
		is[o].log.line = 0; is[o].log.key = 0; is[o].log.first = 0; is[o].log.second = 0;
		worthless = 1
	}
	atomic {
		step(journal_restart_write);
		is[o].log.line = line_of(plan);
		is[o].log.key = key
	}
	atomic {
		step(journal_restart_sync);
		sync_journal(o);
		sync_folder(o)
	}
opened:
	if
	:: paid || !COUNTED -> goto draw
	:: else
	fi;

	// spending_reserve
reserve:
	atomic {
		step(ledger_match);
		r = is[o].name;
		state = ledger[r].state;
		take(found, ledger[r].mark);
		same = ledger[r].command == command_of(plan) && ledger[r].loss == loss_of(plan);
		if
		:: is[o].before && state == UNKNOWN -> goto give_back
		:: is[o].before && state != UNKNOWN -> older = 1
		:: else -> older = 0
		fi
	}
	if
	:: older ->
		atomic { step(unlink_before); is[o].before = 0; older = 0 }
	:: else
	fi;
	atomic {
		if
		:: same && (state == RESERVED ||
		            ((state == DRAWN || state == CLOSED) && stood && !pays && (load == OURS || found.there))) ->
			if
			:: approved && (command_of(plan) != command_of(1) || ledger[r].loss != loss_of(1)) -> goto close
			:: else -> true_of[r].plan = plan; goto charged
			fi
		:: else
		fi
	}
	atomic {
		step(ask_charge);
		if
		:: approved && (command_of(plan) != command_of(1) || loss_of(plan) != loss_of(1)) -> goto close
		:: charges >= LIMIT -> goto close
		:: else
		fi
	}
	if
	:: is[o].name ->
		atomic { step(link_before); is[o].before = is[o].name; older = 1 }
	:: else
	fi;
	atomic { step(write_run_name); is[o].name = life; sync_folder(o) }
	atomic {
		step(ledger_reserve);
		if
		:: charges >= LIMIT -> good = 0
		:: else -> charge_it(); r = life; state = RESERVED; clear(found); good = 1
		fi
	}
	if
	:: good && older ->
		atomic { step(unlink_before); is[o].before = 0; older = 0 }
	:: !good && older ->
		atomic { step(rename_before); is[o].name = is[o].before; is[o].before = 0; goto close }
	:: !good && !older ->
		atomic { step(unlink_name); is[o].name = 0; goto close }
	:: else
	fi;
	goto charged;
give_back:
	atomic { step(rename_before); is[o].name = is[o].before; is[o].before = 0; goto reserve }
charged:
	if
	:: pays -> pays = 0; paid = 1; goto keep
	:: else
	fi;
	if
	:: stood && (load == OURS || state == DRAWN) ->
		// draw_on_from
		atomic {
			step(journal_mark);
			sync_journal(o);
			if
			:: !begins(is[o].log, found) -> goto close
			:: begins(is[o].log, found) && state == CLOSED -> goto draw
			:: else
			fi
		}
		atomic {
			step(ledger_draw);
			ledger_draw(found);
			goes = good;
			if
			:: !good -> goto close
			:: else
			fi
		}
	:: else
	fi;

	// The loop: a token that the journal lacks is drawn, a text that is done is written.
draw:
	do
	:: text == 2 -> break
	:: else ->
		if
		:: (text == 0 && is[o].log.first) || (text == 1 && is[o].log.second)
		:: else ->
#if defined(WALK)
			if
			:: life == 1 && text == STOP1 -> goto close
			:: else
			fi;
#elif STOPS
			if
			:: life < LIVES -> goto close
			:: skip
			fi;
#endif
			if
			:: COUNTED && !drawn ->
				// spending_draw
				atomic { step(journal_mark); sync_journal(o) }
				atomic {
					step(ledger_draw);
					ledger_draw(told);
					goes = good;
					if
					:: !good -> goto close
					:: else -> worthless = 0
					fi
				}
			:: else
			fi;
			atomic {
				step(journal_append);
				if
				:: text == 0 -> is[o].log.first = life
				:: else -> is[o].log.second = life
				fi;
				worthless = 0;
				appended = 1;
				draws[me] = r;
#if !CUTS
				if
				:: goes
				:: else -> see_text(life, life)
				fi
#endif
			}
			if
			:: goes ->
				// spending_go_on
				atomic { step(journal_mark); sync_journal(o) }
				atomic {
					step(ledger_draw);
					ledger_draw(told);
					goes = 0;
					if
					:: !good -> goto close
					:: else
					fi;
#if !CUTS
					see_text(life, life)
#endif
				}
			:: else
			fi
		fi;
		atomic {
			step(journal_sync);
			if
			:: appended -> sync_journal(o); appended = 0
			:: else
			fi
		}
		atomic {
			step(output_text);
			see_text(is[o].log.first, is[o].log.second);
			text++
		}
	od;

	// publish_system
	atomic { step(output_seal); whole = 1 }
	if
	:: COUNTED ->
		atomic {
			step(ledger_finish);
			if
			:: ledger[r].state == DRAWN -> ledger[r].state = CLOSED; ledger[r].output = hash_of(is[o].log)
			:: ledger[r].state == CLOSED && ledger[r].output == hash_of(is[o].log)
			:: else -> goto close
			fi
		}
	:: else
	fi;
	atomic {
		step(replace_receipt);
		is[o].receipt = command_of(plan);
		is[o].says = hash_of(is[o].log);
		sync_folder(o)
	}
	atomic {
		step(rename);
		is[o].out = hash_of(is[o].log);
		is[o].whole = whole;
		put_in_place()
	}
	atomic { step(file_sync_folder); sync_folder(o) }
complete:
	// give_up_names: the journal goes last, and with its name the lock.
	if
	:: is[o].name ->
		atomic { step(unlink_name); is[o].name = 0 }
	:: else
	fi;
	if
	:: is[o].key ->
		atomic { step(binding_remove); is[o].key = 0 }
	:: else
	fi;
	atomic { step(journal_remove); clear(is[o].log); holder[o] = 0; goto ended }

close:
	if
	:: drawn ->
		atomic { step(journal_mark); sync_journal(o) }
		atomic { step(ledger_draw); ledger_draw(told) }
	:: else
	fi;
	atomic {
		step(output_close);
		if
		:: worthless && keyed -> is[o].key = 0
		:: else
		fi;
		if
		:: worthless -> clear(is[o].log)
		:: else
		fi;
		holder[o] = 0
	}
ended:
	atomic {
		if
		:: !alive[me] -> goto gone
		:: else
		fi;
		alive[me] = 0;
#if PLANS == 1 && !KEPT && !RESTORED && !RELEASES && OUTPUTS == 1 && !OVERWRITES && LIMIT == LIVES && !defined(WALK)
		// A crash loses the wait: the last process has put in place what it was charged for once.
		HOLDS(WAITS, life < LIVES || (is[0].out && charges == COUNTED))
#endif
	}
#ifdef WALK
	goto gone;
dies:
	atomic {
		holder[o] = 0;
#if CUTS
		take_files(is[o], synced[o]);
#endif
		alive[me] = 0
	}
#endif
gone:
#ifdef WALK
	printf("leaves %d %d %d %d%d %d %d %d %d %d %d\n", charges, ledger[newest].state,
		(ledger[newest].mark.there -> 1 + tokens_in(ledger[newest].mark) : 0), is[o].log.first, is[o].log.second,
		is[o].log.line != 0, is[o].key != 0, is[o].name != 0, is[o].before != 0, is[o].receipt, is[o].out)
#endif
	atomic {
		draws[me] = 0; life = 0; plan = 0; key = 0; r = 0; state = 0; load = 0; text = 0; i = 0;
		o = 0; over = 0; approved = 0; keyed = 0; stood = 0; pays = 0; paid = 0; same = 0; drawn = 0; goes = 0; appended = 0;
		worthless = 0; whole = 0; good = 0; older = 0;
		clear(told);
		clear(found)
	}
	goto end_next
}

// ---- what else may happen -----------------------------------------------------------------------

inline kill(who) {
	alive[who] = 0;
	if
	:: holder[at[who]] == who + 1 -> holder[at[who]] = 0
	:: else
	fi
}

#define lose(what) if :: is[0].what = synced[0].what :: skip fi

proctype world() {
	byte i;
#if KEPT
	bit o;
	files before;
#endif
end_world:
	do
	:: atomic { kills_left && alive[0] -> kills_left--; happens(kill 0); kill(0) }
	:: atomic { kills_left && alive[1] -> kills_left--; happens(kill 1); kill(1) }
#if CUTS
	:: atomic {
		cuts_left -> cuts_left--;
		happens(power cut);
		alive[0] = 0;
		alive[1] = 0;
		holder[0] = 0;
		lose(key);
		lose(name);
		lose(before);
		if :: is[0].receipt = synced[0].receipt; is[0].says = synced[0].says :: skip fi;
		if :: is[0].out = synced[0].out; is[0].whole = synced[0].whole :: skip fi;
		if
		:: take(is[0].log, synced[0].log)
		:: is[0].log.second && is[0].log.second != synced[0].log.second -> is[0].log.second = 0
		:: skip
		fi;
		HOLDS(WHOLE, !is[0].out || is[0].whole);
		take_files(synced[0], is[0])
	   }
#endif
#if RELEASES
	:: atomic {
		releases_left -> releases_left--;
		happens(release);
		if
		:: ledger[1].state == RESERVED -> ledger[1].state = RELEASED
		:: ledger[2].state == RESERVED -> ledger[2].state = RELEASED
		:: else
		fi
	   }
#endif
#if KEPT
	:: atomic { !copied && lives < LIVES -> copied = 1; happens(files are kept); take_files(copy, is[0]) }
	:: atomic {
		put_backs ->
		put_backs--;
		happens(files are put back);
#if OUTPUTS > 1
		o = 1;
#endif
		if
		:: holder[o] || (alive[0] && at[0] == o) || (alive[1] && at[1] == o)
		:: else ->
			take_files(before, is[o]);
			if
			:: happens(all of them); take_files(is[o], copy)
			:: happens(the journal alone); take(is[o].log, copy.log)
			:: happens(the name alone); is[o].name = copy.name
			:: happens(the key alone); is[o].key = copy.key
			fi;
			i = is[o].name;
			if
#ifndef CARELESS
			// What was drawn behind the last entry, or is being drawn, nobody knows of. So it is not put back to before (README.md).
			:: (ledger[i].state == DRAWN || ledger[i].state == CLOSED) && begins(is[o].log, ledger[i].mark) &&
			   ((!is[o].log.first && true_of[i].seen[0]) || (!is[o].log.second && true_of[i].seen[1]) ||
			    (i && (draws[0] == i || draws[1] == i))) -> take_files(is[o], before)
#endif
			:: else ->
				i = 1;
				do
				:: i > LIVES -> break
				:: else -> true_of[i].given_up = 1; i++
				od;
				take_files(synced[o], is[o])
			fi;
			i = 0;
			clear_files(before)
		fi;
		o = 0
	   }
#endif
#if RESTORED
	:: atomic {
		!kept_ledger && lives < LIVES -> kept_ledger = 1;
		happens(ledger is kept);
		i = 1;
		do
		:: i > LIVES -> break
		:: else -> take_charge(backup[i], ledger[i]); i++
		od;
		i = 0
	   }
	:: atomic {
		restores_left && !alive[0] && !alive[1] -> restores_left--;
		happens(ledger is restored);
		i = 1;
		charges = 0;
		do
		:: i > LIVES -> break
		:: else -> take_charge(ledger[i], backup[i]); charges = charges + (ledger[i].state != UNKNOWN); i++
		od;
		i = 0
	   }
#endif
	od
}

init {
	atomic {
		run process(0);
#ifndef WALK
		run process(1);
		run world()
#endif
	}
}
