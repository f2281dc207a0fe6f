# Tests are found by their place and name:
#   tests/unit/X_test.c    table-driven, cmocka            tests/prop/X_prop.c    against a model, seeded
#   tests/fault/X_fault.c  the Nth allocation fails        tests/fuzz/X_fuzz.c    libFuzzer target + corpus/X
#   tests/integ/AREA/X.sh  whole programs, real servers    tests/threads/X_threads.c   for TSan
# Each is one ctest entry with its folder as label.
enable_testing()
# A test that takes so long hangs. Tests wait on conditions; a machine that is busy with other things may need ten times
# what it usually takes, and is no failure.
set(dsql_hangs_after_s 1800)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
list(REMOVE_ITEM support_sources
    ${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.c ${PROJECT_SOURCE_DIR}/tests/support/alloc_fault.c
    ${PROJECT_SOURCE_DIR}/tests/support/fake_pq.c)
add_library(dsql_test_support STATIC ${support_sources})
target_include_directories(dsql_test_support PUBLIC tests)
target_compile_definitions(dsql_test_support PUBLIC DSQL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(dsql_test_support PUBLIC dsql_flags dsql_cli_static dsql_static PkgConfig::cmocka
    ${binary_needs})

function(dsql_add_test label source)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source} ${ARGN})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE dsql_test_support)
    add_test(NAME ${label}.${name} COMMAND ${name})
    set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${dsql_hangs_after_s})
endfunction()

# The pool's tests get a libpq that connects to nobody: tests/support/fake_pq.h.
function(dsql_fake_libpq name)
    if(NOT name MATCHES "^(pool|lifecycle)_")
        return()
    endif()
    target_sources(${name} PRIVATE tests/support/fake_pq.c)
    foreach(function connectStartParams connectPoll status socket finish setErrorVerbosity
            setNoticeProcessor errorMessage transactionStatus pipelineStatus isnonblocking
            setnonblocking backendPID consumeInput isBusy)
        target_link_options(${name} PRIVATE -Wl,--wrap=PQ${function})
    endforeach()
endfunction()

foreach(label unit prop threads)
    file(GLOB sources CONFIGURE_DEPENDS tests/${label}/*.c)
    foreach(source IN LISTS sources)
        dsql_add_test(${label} ${source})
        get_filename_component(name ${source} NAME_WE)
        dsql_fake_libpq(${name})
    endforeach()
endforeach()

# Fault tests count and fail allocations by wrapping the allocator at link time, so the product needs
# no hook for it.
file(GLOB sources CONFIGURE_DEPENDS tests/fault/*.c)
foreach(source IN LISTS sources)
    dsql_add_test(fault ${source} tests/support/alloc_fault.c)
    get_filename_component(name ${source} NAME_WE)
    dsql_fake_libpq(${name})
    foreach(function malloc calloc realloc reallocarray aligned_alloc strdup free)
        target_link_options(${name} PRIVATE -Wl,--wrap=${function})
    endforeach()
endforeach()

# Fuzz targets: with DSQL_FUZZ they are libFuzzer programs; otherwise each replays its corpus as a test.
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" target ${name})
    if(DSQL_FUZZ)
        add_executable(${name} ${source})
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        target_link_libraries(${name} PRIVATE dsql_test_support)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        dsql_add_test(fuzz ${source} tests/support/fuzz_main.c)
        set_property(TEST fuzz.${name} APPEND PROPERTY ENVIRONMENT
            "CORPUS=${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target}")
    endif()
endforeach()
# Tests of the proxy with a pool that is none: tests/support/fake_pool.h.
foreach(name proxy_fuzz proxy_guard_test)
    if(NOT TARGET ${name})
        continue()
    endif()
    foreach(function dsql_checkout_try dsql_pool_return dsql_pool_discard dsql_pool_discard_as dsql_pool_stats dsql_conn_pg
            PQregisterEventProc PQsetInstanceData PQinstanceData PQsocket PQsslStruct)
        target_link_options(${name} PRIVATE -Wl,--wrap=${function})
    endforeach()
endforeach()

# Programs that the scripts below run. OpenSSL's macros cast const away in them.
file(GLOB sources CONFIGURE_DEPENDS tests/integ/*/*.c)
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE dsql_test_support)
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-cast-qual)
endforeach()
target_link_options(store_again PRIVATE -Wl,--wrap=dsql_wire_look)

# Whole programs. They get the source tree, the build tree and a scratch folder of their own.
file(GLOB sources CONFIGURE_DEPENDS tests/integ/*/*.sh)
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME integ.${name} COMMAND bash ${source})
    set_tests_properties(integ.${name} PROPERTIES LABELS integ TIMEOUT ${dsql_hangs_after_s}
        ENVIRONMENT "SOURCE_DIR=${PROJECT_SOURCE_DIR};BUILD_DIR=${CMAKE_BINARY_DIR};CC=${CMAKE_C_COMPILER}")
endforeach()

# The examples, as a user builds them: public headers, the shared library, libpq. Sanitizers would have to be
# linked into them.
file(GLOB sources CONFIGURE_DEPENDS examples/*.c)
if(DSQL_SANITIZE)
    set(sources "")
endif()
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
    target_compile_options(example_${name} PRIVATE -Wall -Wextra $<$<BOOL:${DSQL_WERROR}>:-Werror>)
    target_link_libraries(example_${name} PRIVATE dsql_shared PkgConfig::pq Threads::Threads)
endforeach()

file(GLOB sources CONFIGURE_DEPENDS bench/*_bench.c)
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    target_link_libraries(${name} PRIVATE dsql_flags dsql_static ${library_needs})
endforeach()
