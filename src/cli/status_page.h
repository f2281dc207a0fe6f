/* status_page.html as bytes; cmake/embed.cmake makes the definition. */
#ifndef DSQL_CLI_STATUS_PAGE_H
#define DSQL_CLI_STATUS_PAGE_H

#include <stddef.h>

extern const unsigned char dsql_status_page[];
extern const size_t dsql_status_page_len;

#endif
