/* The module for the private PostgreSQL, as bytes inside the binary. */
    .section .rodata
    .global dsql_module_bytes
    .global dsql_module_bytes_end
    .hidden dsql_module_bytes
    .hidden dsql_module_bytes_end
    .balign 16
dsql_module_bytes:
    .incbin DSQL_MODULE_FILE
dsql_module_bytes_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
