// SPDX-License-Identifier: Apache-2.0
// How threads.h does it. The tasks of one call of threads_run are a queue. The pool has one queue
// at a time. Worker 0 is the caller.
//
// Shares and stealing. Each worker has a share: consecutive tasks, as many as the others' or one
// more or less. Ten tasks for three workers are the shares 0-2, 3-5 and 6-9. Worker 1 does 3, 4, 5
// in order, for each task prefetches memory for the next one. Then it helps: what is left of 6-9,
// then what is left of 0-2. So nobody is idle while a task has not been taken.
//
// A lost core. "Core" here is a processor as sched_getcpu numbers it. Another process may take a
// worker's core in the middle of a task, and hold it for milliseconds. The caller, by then idle,
// would wait for that one task. It lets the worker run on its own core instead, as a guest.
// Otherwise workers keep off the caller's core, where there is a core for each. Measured with two
// workers beside a process busy on one of two cores: 17 to 28 % of the speed are lost. Without
// these two rules it was 45 to 50 %.
#include "engine/machine/threads.h"

#include "base/misuse.h"
#include "base/processors.h"
#include "engine/machine/cores.h"
#include "engine/status.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	SPIN_LIMIT = 4000,  /* polls before a worker sleeps, and before the caller yields */
	STALL_WINDOW = 200, /* pauses between two looks at a worker's clock */
	STALL_PERIOD = 256, /* yields between two checks whether a worker has lost its core */
	MAX_THREADS = 256   /* workers of a pool, the caller included */
};

/* The next task of one worker's share. The ticket's high 32 bits are the queue's number, its low 32
 * bits the task: task 4 of queue 8 is 8 << 32 | 4. A worker that takes it exchanges the ticket for
 * the next one, 8 << 32 | 5. One that wakes late holds a ticket of an older queue: its exchange
 * fails, and it takes nothing. Each share has a cache line of its own. */
struct task_share {
	_Alignas(64) _Atomic uint64_t ticket;
};

struct threads {
	_Alignas(64) _Atomic uint32_t done;   // tasks of the queue that are done
	_Alignas(64) _Atomic uint32_t posted; // futex word: changes with every queue
	_Atomic uint32_t sleepers;            // workers that sleep on `posted`, or are about to
	_Atomic uint32_t tasks;               // tasks of the queue
	_Atomic(threads_task *) task;         // the queue's function
	_Atomic(void *) context;              // its first argument
	_Atomic bool stop;                    // workers end when they see the next queue
	_Alignas(64) _Atomic uint32_t turns_given; // turns that callers have drawn so far
	_Atomic uint32_t turn;       // futex word: number of the caller who may post now
	unsigned count;              // workers, the caller included
	int caller_cpu;              // the caller's core when it last posted; -1 = none yet
	bool apart;                  // there is a core for each worker
	struct processors elsewhere; // every core the caller may use but caller_cpu
	/* A seat is the place of one worker in the pool: its thread, and how that fares. Seat 0 is
	 * empty, for worker 0 is the caller's own thread. */
	struct seat {
		struct threads *threads; // the pool
		unsigned id;             // the worker's number
		pthread_t thread;
		_Atomic bool busy;  // looks for tasks of the queue, or does one
		_Atomic bool guest; // runs on the caller's core
	} seats[MAX_THREADS];
	struct task_share shares[MAX_THREADS];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word) {
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Several threads may call at the same time. They take turns in the order they came, so a job that
 * posts thousands of queues cannot starve a score. */
static void await_turn(struct threads *threads) {
	const uint32_t own = atomic_fetch_add(&threads->turns_given, 1);
	for (uint32_t turn; (turn = atomic_load(&threads->turn)) != own;)
		futex_wait(&threads->turn, turn);
}

/* A caller draws its number before it looks at the turn. So either this function sees the number
 * and wakes the caller, or the caller sees the new turn. */
static void end_turn(struct threads *threads) {
	const uint32_t next = atomic_load(&threads->turn) + 1;
	atomic_store(&threads->turn, next);
	if (atomic_load(&threads->turns_given) != next) futex_wake_all(&threads->turn);
}

static void pause_briefly(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* First task of worker id's share, and end of the share before: 10 * id / 3 gives 0, 3, 6 and 10.
 */
static uint32_t share_begin(size_t tasks, unsigned id, unsigned count) {
	return (uint32_t)(tasks * id / count);
}

/* Worker `id` does what is left of the owner's share. Returns how many tasks it did. */
static uint32_t do_share_tasks(struct threads *threads, unsigned owner, unsigned id) {
	struct task_share *share = &threads->shares[owner];
	for (uint32_t done = 0;;) {
		uint64_t ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
		const uint32_t index = (uint32_t)ticket;
		// These three may already be the next queue's. The exchange below succeeds only if
		// they are the ticket's. Each is stored with release and loaded with acquire: a
		// worker that sees one of the next queue sees that queue's ticket too, and fails.
		const uint32_t tasks = atomic_load_explicit(&threads->tasks, memory_order_acquire);
		threads_task *task = atomic_load_explicit(&threads->task, memory_order_acquire);
		void *context = atomic_load_explicit(&threads->context, memory_order_acquire);
		if (index >= share_begin(tasks, owner + 1, threads->count)) return done;
		if (!atomic_compare_exchange_weak_explicit(&share->ticket, &ticket, ticket + 1,
		                                           memory_order_acq_rel,
		                                           memory_order_acquire))
			continue;
		task(context, index, id);
		done++;
	}
}

/* First this worker's own share, in order: each task prefetches for the next. Then it helps the
 * others: worker 1 of 3 helps worker 2, then worker 0. */
static void do_all_shares(struct threads *threads, unsigned id) {
	for (unsigned i = 0; i < threads->count; i++) {
		const uint32_t done = do_share_tasks(threads, (id + i) % threads->count, id);
		if (done) atomic_fetch_add_explicit(&threads->done, done, memory_order_release);
	}
}

static void *serve_queues(void *argument) {
	struct seat *self = argument;
	struct threads *threads = self->threads;
	uint32_t seen = 0;
	for (;;) {
		uint32_t posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		for (int spin = 0; posted == seen && spin < SPIN_LIMIT; spin++) {
			if (self->guest) sched_yield(); // the caller needs this core
			else pause_briefly();
			posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		}
		while (posted == seen) {
			atomic_fetch_add(&threads->sleepers, 1);
			futex_wait(&threads->posted, seen);
			atomic_fetch_sub(&threads->sleepers, 1);
			posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		}
		seen = posted;
		if (atomic_load(&threads->stop)) return NULL;
		atomic_store_explicit(&self->busy, true, memory_order_relaxed);
		do_all_shares(threads, self->id);
		atomic_store_explicit(&self->busy, false, memory_order_relaxed);
	}
}

static void post_queue(struct threads *threads) {
	atomic_fetch_add(&threads->posted, 1);
	if (atomic_load(&threads->sleepers)) futex_wake_all(&threads->posted);
}

/* Whether a worker does not run now: the clock of its processor time stands still for STALL_WINDOW
 * pauses. */
static bool lost_its_core(const struct seat *seat) {
	clockid_t clock;
	struct timespec before, after;
	if (pthread_getcpuclockid(seat->thread, &clock) || clock_gettime(clock, &before))
		return false;
	for (int spin = 0; spin < STALL_WINDOW; spin++) pause_briefly();
	return !clock_gettime(clock, &after) && before.tv_sec == after.tv_sec &&
	       before.tv_nsec == after.tv_nsec;
}

/* Another process took the worker's core in the middle of a task, and may keep it for milliseconds.
 * The caller's core has nothing else to do: the worker goes on there. */
static void move_to_caller_core(struct seat *seat) {
	struct processors here = {0};
	processors_add(&here, seat->threads->caller_cpu);
	seat->guest = !pthread_setaffinity_np(seat->thread, sizeof here, here.sets);
}

/* The system itself gives each worker a core of its own, but not beside a busy process of somebody
 * else. With caller, worker and that process on two cores, any two of them may share one. If caller
 * and worker do, they have one core of work between them. If the worker shares with the process,
 * they have one and a half. */
static void leave_caller_core(struct seat *seat) {
	pthread_setaffinity_np(seat->thread, sizeof seat->threads->elsewhere,
	                       seat->threads->elsewhere.sets);
	seat->guest = false;
}

/* The caller runs on another core than when it last posted: all workers leave that core. With fewer
 * cores than workers they stay where they are. */
static void note_caller_core(struct threads *threads, int cpu) {
	threads->caller_cpu = cpu;
	// Where the system does not say which core this is, workers stay where they are, too.
	threads->elsewhere = (struct processors){0};
	if (cpu >= 0 && cpu < PROCESSORS_MOST) (void)processors_allowed(&threads->elsewhere);
	processors_remove(&threads->elsewhere, cpu);
	threads->apart = processors_count(&threads->elsewhere) + 1 >= threads->count;
	for (unsigned i = 1; threads->apart && i < threads->count; i++)
		leave_caller_core(&threads->seats[i]);
}

/* Returns when all tasks are done. The caller finds none left to take; other workers have the last
 * ones in hand. */
static void wait_for_others(struct threads *threads, size_t tasks) {
	bool guests = false;
	for (size_t spin = 0; atomic_load_explicit(&threads->done, memory_order_acquire) != tasks;
	     spin++) {
		if (spin < SPIN_LIMIT) {
			pause_briefly();
			continue;
		}
		for (unsigned i = 1; threads->apart && (spin - SPIN_LIMIT) % STALL_PERIOD == 0 &&
		                     i < threads->count;
		     i++) {
			struct seat *seat = &threads->seats[i];
			if (!atomic_load_explicit(&seat->busy, memory_order_relaxed) ||
			    seat->guest || !lost_its_core(seat))
				continue;
			move_to_caller_core(seat);
			guests = true;
		}
		sched_yield(); // the worker with the last task may be waiting for this core
	}
	for (unsigned i = 1; guests && i < threads->count; i++)
		if (threads->seats[i].guest) leave_caller_core(&threads->seats[i]);
}

void threads_run(struct threads *threads, size_t tasks, threads_task *task, void *context) {
	REQUIRE(tasks <= UINT32_MAX);
	if (threads->count == 1 || tasks < 2) {
		for (size_t i = 0; i < tasks; i++) task(context, i, 0);
		return;
	}
	await_turn(threads);
	const uint64_t queue =
	    (atomic_load_explicit(&threads->shares[0].ticket, memory_order_relaxed) >> 32) + 1;
	// First mark every share empty (task UINT32_MAX). A worker late from the last queue then
	// takes nothing while the fields change. So each queue takes two numbers. After queue 6,
	// the shares are empty under number 7 and hold the tasks under number 8.
	for (unsigned i = 0; i < threads->count; i++)
		atomic_store_explicit(&threads->shares[i].ticket, queue << 32 | UINT32_MAX,
		                      memory_order_release);
	atomic_store_explicit(&threads->done, 0, memory_order_relaxed);
	atomic_store_explicit(&threads->tasks, (uint32_t)tasks, memory_order_release);
	atomic_store_explicit(&threads->task, task, memory_order_release);
	atomic_store_explicit(&threads->context, context, memory_order_release);
	for (unsigned i = 0; i < threads->count; i++)
		atomic_store_explicit(&threads->shares[i].ticket,
		                      (queue + 1) << 32 | share_begin(tasks, i, threads->count),
		                      memory_order_release);
	const int cpu = sched_getcpu();
	if (cpu != threads->caller_cpu) note_caller_core(threads, cpu);
	post_queue(threads);
	do_all_shares(threads, 0);
	wait_for_others(threads, tasks);
	end_turn(threads);
}

enum cuttle_status threads_new(unsigned count, struct threads **out, struct cuttle_error *error) {
	*out = NULL;
	if (!count) count = cores_available();
	if (count > MAX_THREADS) count = MAX_THREADS;
	struct threads *threads = aligned_alloc(64, (sizeof *threads + 63) / 64 * 64);
	if (!threads) return status_fail(error, CUTTLE_NOMEM, "out of memory starting threads");
	*threads = (struct threads){.count = 1, .caller_cpu = -1};
	// Workers block all signals, so the program's own threads get them.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; threads->count < count; threads->count++) {
		struct seat *seat = &threads->seats[threads->count];
		*seat = (struct seat){.threads = threads, .id = threads->count};
		if (pthread_create(&seat->thread, NULL, serve_queues, seat)) break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	*out = threads;
	return CUTTLE_OK;
}

void threads_free(struct threads **threads) {
	if (!*threads) return;
	atomic_store(&(*threads)->stop, true);
	post_queue(*threads);
	for (unsigned i = 1; i < (*threads)->count; i++)
		pthread_join((*threads)->seats[i].thread, NULL);
	free(*threads);
	*threads = NULL;
}

unsigned threads_count(const struct threads *threads) {
	return threads->count;
}
