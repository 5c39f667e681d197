// SPDX-License-Identifier: Apache-2.0
#include "engine/threads.h"

#include "base/misuse.h"
#include "engine/cores.h"
#include "engine/status.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 4000, MOMENT = 200, LOOK_AGAIN = 256, MAX_THREADS = 256 };

/* Where the next task of one worker's share stands: the queue's number in the high half, the task in the low one, so that a worker that
 * wakes late finds another queue number and takes nothing. */
struct share {
	_Alignas(64) _Atomic uint64_t ticket;
};

struct threads {
	_Alignas(64) _Atomic uint32_t done;
	_Alignas(64) _Atomic uint32_t posted; // futex word: changes with every queue
	_Atomic uint32_t sleepers;
	_Atomic uint32_t tasks;
	_Atomic(threads_task *) task;
	_Atomic(void *) context;
	_Atomic bool stop;
	unsigned count;
	int caller_cpu;      // where it was when it last posted
	bool apart;          // there is a core for each
	cpu_set_t elsewhere; // all but the caller's
	struct seat {
		struct threads *threads;
		unsigned id;
		pthread_t thread;
		_Atomic bool busy;  // with tasks of the queue in hand
		_Atomic bool guest; // on the caller's core
	} seats[MAX_THREADS];
	struct share shares[MAX_THREADS];
};

static void pause_briefly(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* First task of a worker's share. */
static uint32_t share_begin(size_t tasks, unsigned id, unsigned count) {
	return (uint32_t)(tasks * id / count);
}

/* Does what is left of a share and returns the number of tasks done. */
static uint32_t work_off(struct threads *threads, unsigned owner, unsigned id) {
	struct share *share = &threads->shares[owner];
	for (uint32_t done = 0;;) {
		uint64_t ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
		const uint32_t index = (uint32_t)ticket;
		// These belong to the ticket's queue only if the exchange below succeeds. Acquire and release, for who sees a field of the
		// next queue must see its ticket too, and fail.
		const uint32_t tasks = atomic_load_explicit(&threads->tasks, memory_order_acquire);
		threads_task *task = atomic_load_explicit(&threads->task, memory_order_acquire);
		void *context = atomic_load_explicit(&threads->context, memory_order_acquire);
		if (index >= share_begin(tasks, owner + 1, threads->count)) return done;
		if (!atomic_compare_exchange_weak_explicit(&share->ticket, &ticket, ticket + 1, memory_order_acq_rel, memory_order_acquire))
			continue;
		task(context, index, id);
		done++;
	}
}

/* The worker's own share in order, for what one task fetches ahead is what the next one reads; then what the others have left. */
static void work(struct threads *threads, unsigned id) {
	for (unsigned i = 0; i < threads->count; i++) {
		const uint32_t done = work_off(threads, (id + i) % threads->count, id);
		if (done) atomic_fetch_add_explicit(&threads->done, done, memory_order_release);
	}
}

static void *worker(void *argument) {
	struct seat *self = argument;
	struct threads *threads = self->threads;
	uint32_t seen = 0;
	for (;;) {
		uint32_t posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		for (int spin = 0; posted == seen && spin < SPINS; spin++) {
			if (self->guest) sched_yield();
			else pause_briefly();
			posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		}
		while (posted == seen) {
			atomic_fetch_add(&threads->sleepers, 1);
			syscall(SYS_futex, &threads->posted, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
			atomic_fetch_sub(&threads->sleepers, 1);
			posted = atomic_load_explicit(&threads->posted, memory_order_acquire);
		}
		seen = posted;
		if (atomic_load(&threads->stop)) return NULL;
		atomic_store_explicit(&self->busy, true, memory_order_relaxed);
		work(threads, self->id);
		atomic_store_explicit(&self->busy, false, memory_order_relaxed);
	}
}

static void post(struct threads *threads) {
	atomic_fetch_add(&threads->posted, 1);
	if (atomic_load(&threads->sleepers)) syscall(SYS_futex, &threads->posted, FUTEX_WAKE_PRIVATE, MAX_THREADS, NULL, NULL, 0);
}

/* Whether the thread has had no processor for a moment. */
static bool lost_its_core(const struct seat *seat) {
	clockid_t clock;
	struct timespec before, after;
	if (pthread_getcpuclockid(seat->thread, &clock) || clock_gettime(clock, &before)) return false;
	for (int spin = 0; spin < MOMENT; spin++) pause_briefly();
	return !clock_gettime(clock, &after) && before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec;
}

/* A worker whose core another process took in the middle of a task, as it does for milliseconds, goes on with it on the caller's core,
 * which has nothing else to do. */
static void invite(struct seat *seat) {
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET(seat->threads->caller_cpu, &here);
	seat->guest = !pthread_setaffinity_np(seat->thread, sizeof here, &here);
}

/* A core of its own is what the system would give a worker too, but not beside another process: of three on two cores it lets any two
 * share, and the caller with its worker is half of what a worker with the stranger is. */
static void keep_off(struct seat *seat) {
	pthread_setaffinity_np(seat->thread, sizeof seat->threads->elsewhere, &seat->threads->elsewhere);
	seat->guest = false;
}

/* Once the caller is on another core than before. */
static void keep_all_off(struct threads *threads, int cpu) {
	threads->caller_cpu = cpu;
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof threads->elsewhere, &threads->elsewhere))
		CPU_ZERO(&threads->elsewhere);
	else CPU_CLR(cpu, &threads->elsewhere);
	threads->apart = CPU_COUNT(&threads->elsewhere) + 1 >= (int)threads->count;
	for (unsigned i = 1; threads->apart && i < threads->count; i++) keep_off(&threads->seats[i]);
}

/* Until the tasks are done that others hold. */
static void wait_for_others(struct threads *threads, size_t tasks) {
	bool guests = false;
	for (size_t spin = 0; atomic_load_explicit(&threads->done, memory_order_acquire) != tasks; spin++) {
		if (spin < SPINS) {
			pause_briefly();
			continue;
		}
		for (unsigned i = 1; threads->apart && (spin - SPINS) % LOOK_AGAIN == 0 && i < threads->count; i++) {
			struct seat *seat = &threads->seats[i];
			if (!atomic_load_explicit(&seat->busy, memory_order_relaxed) || seat->guest || !lost_its_core(seat)) continue;
			invite(seat);
			guests = true;
		}
		sched_yield(); // the core of whoever holds the last task may be ours
	}
	for (unsigned i = 1; guests && i < threads->count; i++)
		if (threads->seats[i].guest) keep_off(&threads->seats[i]);
}

void threads_run(struct threads *threads, size_t tasks, threads_task *task, void *context) {
	REQUIRE(tasks <= UINT32_MAX);
	if (threads->count == 1 || tasks < 2) {
		for (size_t i = 0; i < tasks; i++) task(context, i, 0);
		return;
	}
	const uint64_t queue = (atomic_load_explicit(&threads->shares[0].ticket, memory_order_relaxed) >> 32) + 1;
	// With no task to take, late workers of the last queue fall through while the fields change.
	for (unsigned i = 0; i < threads->count; i++)
		atomic_store_explicit(&threads->shares[i].ticket, queue << 32 | UINT32_MAX, memory_order_release);
	atomic_store_explicit(&threads->done, 0, memory_order_relaxed);
	atomic_store_explicit(&threads->tasks, (uint32_t)tasks, memory_order_release);
	atomic_store_explicit(&threads->task, task, memory_order_release);
	atomic_store_explicit(&threads->context, context, memory_order_release);
	for (unsigned i = 0; i < threads->count; i++)
		atomic_store_explicit(&threads->shares[i].ticket, (queue + 1) << 32 | share_begin(tasks, i, threads->count),
		                      memory_order_release);
	const int cpu = sched_getcpu();
	if (cpu != threads->caller_cpu) keep_all_off(threads, cpu);
	post(threads);
	work(threads, 0);
	wait_for_others(threads, tasks);
}

enum cuttle_status threads_new(unsigned count, struct threads **out, struct cuttle_error *error) {
	*out = NULL;
	if (!count) count = cores_available();
	if (count > MAX_THREADS) count = MAX_THREADS;
	struct threads *threads = aligned_alloc(64, (sizeof *threads + 63) / 64 * 64);
	if (!threads) return status_fail(error, CUTTLE_NOMEM, "out of memory starting threads");
	*threads = (struct threads){.count = 1, .caller_cpu = -1};
	// Signals are the caller's: workers block them all.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; threads->count < count; threads->count++) {
		struct seat *seat = &threads->seats[threads->count];
		*seat = (struct seat){.threads = threads, .id = threads->count};
		if (pthread_create(&seat->thread, NULL, worker, seat)) break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	*out = threads;
	return CUTTLE_OK;
}

void threads_free(struct threads **threads) {
	if (!*threads) return;
	atomic_store(&(*threads)->stop, true);
	post(*threads);
	for (unsigned i = 1; i < (*threads)->count; i++) pthread_join((*threads)->seats[i].thread, NULL);
	free(*threads);
	*threads = NULL;
}

unsigned threads_count(const struct threads *threads) {
	return threads->count;
}
