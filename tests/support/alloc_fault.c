#include "support/alloc_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The linker's --wrap gives us these names. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_reallocarray(void *ptr, size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_reallocarray(void *ptr, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *ptr);

void (*alloc_fault_before_free)(const void *block);
/* Atomic, because some of what is tested has threads of its own. */
static _Atomic size_t countdown; /* 0: nothing fails */
static _Atomic bool injected;
static _Atomic long live;

static bool fails_now(void)
{
    size_t left = countdown;
    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1))
        continue;
    if (left != 1)
        return false;
    injected = true;
    return true;
}

static void *counted(void *ptr)
{
    live += ptr != NULL;
    return ptr;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *ptr, size_t size)
{
    if (fails_now())
        return NULL;
    void *grown = __real_realloc(ptr, size);
    return ptr ? grown : counted(grown);
}

void *__wrap_reallocarray(void *ptr, size_t n, size_t size)
{
    if (fails_now())
        return NULL;
    void *grown = __real_reallocarray(ptr, n, size);
    return ptr ? grown : counted(grown);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails_now() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *ptr)
{
    live -= ptr != NULL;
    if (ptr && alloc_fault_before_free)
        alloc_fault_before_free(ptr);
    __real_free(ptr);
}

size_t alloc_fault_run(const char *name, alloc_fault_fn *fn, bool tolerant)
{
    enum { RUNS_MAX = 100000 };
    for (size_t n = 1; n < RUNS_MAX; n++) {
        long before = live;
        countdown = n;
        injected = false;
        bool succeeded = fn();
        countdown = 0;
        if (live != before)
            fail_msg("%s: %ld blocks left after allocation %zu failed", name, live - before, n);
        if (!injected && !succeeded)
            fail_msg("%s: fails although nothing was injected", name);
        if (injected && succeeded && !tolerant)
            fail_msg("%s: allocation %zu failed and nobody noticed", name, n);
        if (!injected)
            return n;
    }
    fail_msg("%s: never ends", name);
    return 0;
}
