/* A disk whose syncs take at least SLOW_SYNC_MICROSECONDS: loaded into a process before its C library (LD_PRELOAD), it
   lets fdatasync(2) and fsync(2) return no sooner. `attacks.py --sync-milliseconds` compiles and loads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int no_sooner(int (*sync)(int), int descriptor) {
    const char *text = getenv("SLOW_SYNC_MICROSECONDS");
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    long nanoseconds = end.tv_nsec + (text ? atol(text) : 0) * 1000;
    end.tv_sec += nanoseconds / 1000000000;
    end.tv_nsec = nanoseconds % 1000000000;
    int result = sync(descriptor);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) {
    }
    return result;
}

int fdatasync(int descriptor) { return no_sooner((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), descriptor); }

int fsync(int descriptor) { return no_sooner((int (*)(int))dlsym(RTLD_NEXT, "fsync"), descriptor); }
