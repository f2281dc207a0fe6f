# The same binary and shared library once more, for the tarball: they look for the libraries they need
# beside themselves, in lib/dsql of wherever the tree was unpacked (scripts/tarball puts them there). The
# path is of the old kind, DT_RPATH, because it must hold for what those libraries need in turn.
set(portable_dir ${CMAKE_BINARY_DIR}/portable)
add_executable(dsql_portable src/cli/main.c $<TARGET_OBJECTS:dsql_cli>)
set_target_properties(dsql_portable PROPERTIES OUTPUT_NAME dsql
    RUNTIME_OUTPUT_DIRECTORY ${portable_dir} BUILD_RPATH "$ORIGIN/../lib/dsql")
target_link_libraries(dsql_portable PRIVATE dsql_flags dsql_static ${binary_needs})
add_library(dsql_portable_shared SHARED $<TARGET_OBJECTS:dsql_objects>)
set_target_properties(dsql_portable_shared PROPERTIES OUTPUT_NAME dsql
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${portable_dir} BUILD_RPATH "$ORIGIN/dsql")
target_link_libraries(dsql_portable_shared PRIVATE dsql_flags Threads::Threads ${library_needs})
foreach(target dsql_portable dsql_portable_shared)
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()
