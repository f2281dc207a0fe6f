#include "base/thread.h"

void dsql_signals_hold(sigset_t *before)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

void dsql_signals_release(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

int dsql_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    sigset_t before;
    int failed = pthread_attr_init(&attr);
    if (failed)
        return failed;
    if (stack > 0)
        failed = pthread_attr_setstacksize(&attr, stack);
    dsql_signals_hold(&before);
    if (!failed)
        failed = pthread_create(thread, &attr, run, arg);
    dsql_signals_release(&before);
    (void)pthread_attr_destroy(&attr);
    return failed;
}
