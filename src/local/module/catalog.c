#include "local/module/module.h"

#include "local/module/catalog.h"

#include <limits.h>
#include <utils/guc.h>

static int changes; /* committed by this session */
static bool touched;

void dsql_catalog_init(void)
{
    DefineCustomIntVariable("dsql.catalog_changes",
                            "How many transactions of this session changed the catalogue.", NULL,
                            &changes, 0, 0, INT_MAX, PGC_INTERNAL,
                            GUC_REPORT | GUC_NO_SHOW_ALL | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
}

void dsql_catalog_touch(void)
{
    touched = true;
}

void dsql_catalog_commit(void)
{
    char text[16];
    if (!touched)
        return;
    snprintf(text, sizeof(text), "%d", changes == INT_MAX ? 0 : changes + 1);
    /* Undone with the transaction, should it still fail. */
    SetConfigOption("dsql.catalog_changes", text, PGC_INTERNAL, PGC_S_OVERRIDE);
}

void dsql_catalog_forget(void)
{
    touched = false;
}
