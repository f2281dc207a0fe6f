#include "cli/serving.h"

#include <stddef.h>
#include <sys/resource.h>

static void catch_signal(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

void dsql_serving_prepare(void (*end)(int), int number, void (*other)(int))
{
    struct rlimit limit;
    catch_signal(SIGTERM, end);
    catch_signal(SIGINT, end);
    catch_signal(number, other);
    catch_signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
