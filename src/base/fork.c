#include "base/fork.h"

#include <pthread.h>
#include <stddef.h>

unsigned dsql_fork_generation;

static void count(void)
{
    dsql_fork_generation++;
}

static void count_from_now_on(void)
{
    (void)pthread_atfork(NULL, NULL, count);
}

void dsql_fork_watch(void (*forget)(void))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, count_from_now_on);
    if (forget)
        (void)pthread_atfork(NULL, NULL, forget);
}
