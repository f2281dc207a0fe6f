# The module that the private PostgreSQL of `dsql local` loads. It follows PostgreSQL's headers and rules,
# not the flags of the house, and travels as bytes inside the binary.
execute_process(COMMAND ${pg_config} --includedir-server
    OUTPUT_VARIABLE pg_server_headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB module_sources CONFIGURE_DEPENDS src/local/module/*.c)
add_library(dsql_module MODULE ${module_sources})
set_target_properties(dsql_module PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/module)
target_compile_definitions(dsql_module PRIVATE _GNU_SOURCE)
target_include_directories(dsql_module PRIVATE src)
target_include_directories(dsql_module SYSTEM PRIVATE ${pg_server_headers})
target_compile_options(dsql_module PRIVATE -Wall -Wextra -Wno-unused-parameter -Wvla
    -Wmissing-prototypes -fno-strict-aliasing -fwrapv ${hardened_compile}
    $<$<BOOL:${DSQL_WERROR}>:-Werror>)
target_link_options(dsql_module PRIVATE ${hardened_link})
set_source_files_properties(src/local/process/module_bytes.S PROPERTIES
    COMPILE_DEFINITIONS DSQL_MODULE_FILE="$<TARGET_FILE:dsql_module>"
    OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/module/dsql_module.so)
