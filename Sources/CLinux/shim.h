#ifndef CURRENCY_LEDGER_CLINUX_H
#define CURRENCY_LEDGER_CLINUX_H

/* What Swift's own Glibc module leaves out: waiting for many sockets, a fine timer, and what a thread asks of the
   scheduler (sched_setattr(2), for which older C libraries have no function). */
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Asks for time slices of this length for the calling thread, whose policy and niceness stay. Returns 0, or -1 where
   the system refuses; a kernel before 6.12 takes no notice. */
static inline int ledger_ask_for_slices(uint64_t nanoseconds) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -1;
    attributes.runtime = nanoseconds;
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

#endif
