# The end of an installation: programs find a new shared library in the loader's own folders once
# ldconfig has run, and elsewhere when they are told. Runs ldconfig where that is right and possible, says
# what is left to do, and leaves everything alone when the files go to a staging folder (DESTDIR).
if("$ENV{DESTDIR}" STREQUAL "")
    set(ENV{PATH} "$ENV{PATH}:/usr/sbin:/sbin")
    execute_process(COMMAND ldconfig -N -X -v OUTPUT_VARIABLE folders ERROR_QUIET RESULT_VARIABLE unknown)
    execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(FIND "\n${folders}" "\n${loader_libdir}:" found)
    if(unknown OR found EQUAL -1)
        message(STATUS "The loader does not search ${loader_libdir}: link programs with "
            "-Wl,-rpath,${loader_libdir} or set LD_LIBRARY_PATH")
    elseif(user EQUAL 0)
        execute_process(COMMAND ldconfig)
    else()
        message(STATUS "Run ldconfig as root, so that the loader learns of libdsql.so")
    endif()
endif()
