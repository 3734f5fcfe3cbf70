#ifndef CURRENCY_LEDGER_CEPOLL_H
#define CURRENCY_LEDGER_CEPOLL_H

/* Waiting for many sockets and a fine timer, which Swift's own Glibc module leaves out. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#endif
