#include "local/process/module_file.h"

/* module_bytes.S */
extern const char dsql_module_bytes[];
extern const uint64_t dsql_module_size;

enum dsql_rc dsql_module_write(const struct dsql_folder *folder, struct dsql_err *err)
{
    return dsql_folder_write(folder, DSQL_MODULE_NAME ".so", 0644,
                             (struct dsql_span){dsql_module_bytes, dsql_module_size}, err);
}
