/* The module for the private PostgreSQL, as bytes inside the binary. */
    .section .rodata
    .global dsql_module_bytes
    .global dsql_module_size
    .hidden dsql_module_bytes
    .hidden dsql_module_size
    .balign 16
dsql_module_bytes:
    .incbin DSQL_MODULE_FILE
end_of_module:
    .balign 8
dsql_module_size:
    .quad end_of_module - dsql_module_bytes
    .section .note.GNU-stack, "", %progbits
