# SPDX-License-Identifier: BSD-3-Clause
# rpm.cmake: the flags of every target, and the functions by which a folder adds its sources, tests and
# programs.

# rpm_compile: warnings and sanitizers, for each target of ours and for nothing installed.
# rpm_build: beside these, how our shared libraries, programs and tests are linked. Not for a library that a
# project around this one may link statically: it would pass the link options on to that project's programs.
add_library(rpm_compile INTERFACE)
add_library(rpm_build INTERFACE)
target_link_libraries(rpm_build INTERFACE rpm_compile)
target_compile_options(rpm_compile INTERFACE -Wall -Wextra
    $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wvla -Wstrict-prototypes>)
if(LIBRPM_WERROR)
    target_compile_options(rpm_compile INTERFACE -Werror)
endif()
if(LIBRPM_SANITIZE STREQUAL "")
    # Sanitizers widen stack frames, so the limit holds for plain builds only.
    target_compile_options(rpm_compile INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=4096>)
elseif(LIBRPM_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
    target_compile_options(rpm_compile INTERFACE -fsanitize=${LIBRPM_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer
        # GCC documents these as prone to false alarms beside sanitizers; plain builds have them on.
        $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overread>
        # C functions that C++ calls by pointer have no type information at run time.
        $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>)
    if(LIBRPM_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # TSan does not model fences. Ours order stores for another mapping of the same page, which TSan
        # cannot relate anyway.
        target_compile_options(rpm_compile INTERFACE -Wno-tsan)
    endif()
    target_link_options(rpm_build INTERFACE -fsanitize=${LIBRPM_SANITIZE})
else()
    message(FATAL_ERROR "LIBRPM_SANITIZE=${LIBRPM_SANITIZE}: use address,undefined or thread")
endif()

# Sources of the library, relative to the calling folder.
function(rpm_sources)
    foreach(source IN LISTS ARGN)
        set_property(GLOBAL APPEND PROPERTY RPM_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endforeach()
endfunction()

# The same of librpm-sim.
function(rpm_sim_sources)
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY RPM_SIM_SOURCES ${ARGN})
endfunction()

# The same of librpm-s3.
function(rpm_s3_sources)
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY RPM_S3_SOURCES ${ARGN})
endfunction()

# rpm_library(NAME [MAP]): how all our libraries are compiled; a shared one exports what MAP lists.
function(rpm_library name)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE -fno-strict-aliasing)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib ${LIBRPM_XXHASH_INCLUDE})
    target_include_directories(${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    get_target_property(type ${name} TYPE)
    set(flags rpm_compile)
    if(type STREQUAL "SHARED_LIBRARY")
        set(flags rpm_build)
    endif()
    target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:${flags}> $<BUILD_INTERFACE:rpm_product>)
    # The libraries find each other in their own folder.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN"
        VERSION ${PROJECT_VERSION} SOVERSION ${LIBRPM_SOVERSION})
    if(ARGN)
        set(map ${CMAKE_CURRENT_BINARY_DIR}/${ARGN})
        configure_file(${ARGN} ${map} @ONLY)
        target_link_options(${name} PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic-functions)
        if(NOT LIBRPM_SANITIZE) # with clang, a sanitizer's functions are in the program
            target_link_options(${name} PRIVATE -Wl,--no-undefined)
        endif()
        set_property(TARGET ${name} PROPERTY LINK_DEPENDS ${map})
    endif()
endfunction()

# rpm_needs(NAME): the libraries that librpm is made with.
function(rpm_needs name)
    target_link_libraries(${name} PRIVATE PkgConfig::LIBRPM_PMEM2 PkgConfig::LIBRPM_CRYPTO Threads::Threads
        ${CMAKE_DL_LIBS} $<$<BOOL:${LIBRPM_NUMA}>:numa>
        $<$<BOOL:${LIBRPM_LZ4}>:PkgConfig::LIBRPM_LZ4_LIBRARY>
        $<$<BOOL:${LIBRPM_ZSTD}>:PkgConfig::LIBRPM_ZSTD_LIBRARY>)
    rpm_rdma(${name})
endfunction()

# rpm_s3_needs(NAME): the libraries that librpm-s3 is made with.
function(rpm_s3_needs name)
    if(LIBRPM_S3)
        target_link_libraries(${name} PRIVATE PkgConfig::LIBRPM_S3_LIBRARIES PkgConfig::LIBRPM_CRYPTO Threads::Threads)
    endif()
endfunction()

# rpm_opens_s3(NAME): a program of this build that opens s3: URLs, as rpm_opens_sim().
function(rpm_opens_s3 name)
    get_target_property(type rpm TYPE)
    if(LIBRPM_S3 AND type STREQUAL "SHARED_LIBRARY")
        add_dependencies(${name} rpm_s3)
    elseif(LIBRPM_S3)
        target_link_libraries(${name} PRIVATE rpm_s3)
    endif()
endfunction()

# rpm_opens_sim(NAME): a program of this build that opens sim: addresses. A shared librpm loads librpm-sim,
# which must be built before.
function(rpm_opens_sim name)
    get_target_property(type rpm TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
        add_dependencies(${name} rpm_sim)
    else()
        target_link_libraries(${name} PRIVATE rpm_sim)
    endif()
endfunction()

# Label and deadline of one test. A test that cannot run here exits 77 and counts as skipped.
function(rpm_test_properties name label timeout)
    if(NOT timeout)
        set(timeout 300)
    endif()
    if(LIBRPM_SANITIZE OR CMAKE_CROSSCOMPILING)
        math(EXPR timeout "${timeout} * 4")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${timeout}
        SKIP_RETURN_CODE 77)
    # Long tests first, so that none runs alone at the end.
    if(label MATCHES "crash|canary|swarm|kill|soak|spec" OR name MATCHES "^(reproducible|tools_bench|unit_dtx|unit_log)"
            OR (CMAKE_CROSSCOMPILING AND name MATCHES "^unit_sim"))
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
endfunction()

# What scripts/test builds: rpm_quick_tests under ASan and UBSan, and rpm_short_tests in a release
# build; with --full all of the release build, and rpm_threaded_tests, those with several threads, under TSan.
# rpm_optional_tests: what depends on RDMA, TLS, NUMA, LZ4, zstd and S3: transports, server, tiers, and all above them on each
# transport. scripts/test runs them in the build without these, where all other objects are as in a release.
# rpm_cross_tests: what scripts/cross builds for another architecture and runs by an emulator: all but unit_base,
# which starts itself as a child, and unit_shm, which needs robust futexes. The emulator of programs carries out
# neither as a kernel does; the guest of tests/live/lab/arm64 runs these two.
if(LIBRPM_TESTS)
    foreach(name quick short threaded optional cross)
        add_custom_target(rpm_${name}_tests)
    endforeach()
endif()
# rpm_installed: what `cmake --install` installs; without LIBRPM_INSTALL the programs that it would.
if(LIBRPM_INSTALL OR LIBRPM_TOOLS)
    add_custom_target(rpm_installed)
endif()
set(RPM_CROSS "^(golden_format|conform_.*|unit_(conn|log|plan|pool|region|pmem|serve|serve_stream|sim|sim_device|sim_perf|stream|tier|transport|transport_sim|verbs|wire))$")

# The flags of all tests are equal, so that they can share a precompiled header.
function(rpm_test_options name)
    target_compile_definitions(${name} PRIVATE CATCH_CONFIG_FAST_COMPILE
        $<$<BOOL:${CMAKE_CROSSCOMPILING}>:RPM_EMULATED>)
    # The two options of a precompiled header are what ccache needs to keep objects that use it.
    target_compile_options(${name} PRIVATE -O0 -g1 $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
        "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# rpm_unity(NAME): compiles the sources of each folder of a program as one, in half of the time. A name that two
# files of a folder give to a helper is then an error, also in an anonymous namespace.
function(rpm_unity name)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # In a file that another one includes, GCC warns of each coroutine whose parameters have a lambda's type.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    get_target_property(sources ${name} SOURCES)
    foreach(source ${sources})
        cmake_path(GET source PARENT_PATH folder)
        string(MAKE_C_IDENTIFIER "${name}_${folder}" group)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
endfunction()

# rpm_unity_sanitized(NAME): rpm_unity() for a sanitizer; a release compiles each file alone, which shows that it
# includes what it needs.
function(rpm_unity_sanitized name)
    if(LIBRPM_SANITIZE)
        rpm_unity(${name})
    endif()
endfunction()

# rpm_add_tests(NAME PARTS COMMAND_ARGS SOURCES LABEL TIMEOUT): runs the program NAME, in PARTS runs that can
# run beside each other, each with the tests of its share of the sources.
function(rpm_add_tests name parts args sources label timeout)
    if(NOT parts)
        add_test(NAME ${name} COMMAND ${name} ${args})
        rpm_test_properties(${name} "${label}" "${timeout}")
        return()
    endif()
    list(FILTER sources INCLUDE REGEX "_test[.]cpp$") # the others have no tests
    list(TRANSFORM sources REPLACE "^(.*/)?([^/]+)[.]cpp$" "[#\\2]")
    list(REMOVE_DUPLICATES sources)
    set(part 0)
    foreach(tag ${sources})
        math(EXPR part "${part} % ${parts} + 1")
        list(APPEND tags_${part} ${tag})
    endforeach()
    foreach(part RANGE 1 ${parts})
        list(JOIN tags_${part} "," tags)
        add_test(NAME ${name}_${part} COMMAND ${name} --filenames-as-tags --warn NoTests ${tags} ${args})
        rpm_test_properties(${name}_${part} "${label}" "${timeout}")
    endforeach()
endfunction()

# rpm_test(NAME LABEL label... [THREADED] [USER] [COMMAND_ARGS ...] [TIMEOUT s] [PARTS n] SOURCES file...):
# a Catch2 program that sees the library's internals; as a USER the libraries as they are installed.
function(rpm_test name)
    cmake_parse_arguments(arg "THREADED;USER" "TIMEOUT;PARTS" "LABEL;SOURCES;COMMAND_ARGS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    if(arg_USER)
        target_link_libraries(${name} PRIVATE rpm_sim)
    else()
        target_link_libraries(${name} PRIVATE rpm_testing)
    endif()
    target_link_libraries(${name} PRIVATE rpm_catch rpm_build)
    # Assertion macros take long to optimise, and only the suites that run for minutes gain by it.
    if(arg_LABEL MATCHES "crash|canary|swarm|kill")
        target_compile_definitions(${name} PRIVATE CATCH_CONFIG_FAST_COMPILE)
        add_dependencies(rpm_short_tests ${name})
        list(APPEND arg_LABEL short)
    else()
        rpm_test_options(${name})
        target_precompile_headers(${name} REUSE_FROM rpm_catch_header)
        rpm_unity(${name})
        add_dependencies(rpm_quick_tests ${name})
        list(APPEND arg_LABEL quick)
        if(name MATCHES "^(unit_(serve|shm|stream|tier|transport|verbs)|conform_)")
            add_dependencies(rpm_optional_tests ${name})
            list(APPEND arg_LABEL optional)
        endif()
    endif()
    if(CMAKE_CROSSCOMPILING AND name MATCHES "${RPM_CROSS}")
        add_dependencies(rpm_cross_tests ${name})
        list(APPEND arg_LABEL cross)
    endif()
    if(arg_THREADED)
        add_dependencies(rpm_threaded_tests ${name})
        list(APPEND arg_LABEL threaded)
    endif()
    rpm_add_tests(${name} "${arg_PARTS}" "${arg_COMMAND_ARGS}" "${arg_SOURCES}" "${arg_LABEL}" "${arg_TIMEOUT}")
endfunction()

# rpm_script_test(NAME LABEL label... [TIMEOUT s] COMMAND word...): any other command as a test.
function(rpm_script_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABEL;COMMAND" ${ARGN})
    add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
    rpm_test_properties(${name} "${arg_LABEL}" "${arg_TIMEOUT}")
endfunction()

# rpm_declares_options(FILE...): sources that mostly declare options of a command line: long to optimise, and nothing
# there takes time to run.
function(rpm_declares_options)
    if(NOT LIBRPM_SANITIZE)
        set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-O0;-U_FORTIFY_SOURCE")
    endif()
endfunction()

# rpm_program(NAME SOURCES main file...): an installed program; sees only the public headers. Its
# first file declares the options. A program that calls the simulators' functions links rpm_sim beside.
function(rpm_program name)
    cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
    list(GET arg_SOURCES 0 main)
    rpm_declares_options(${main})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE rpm rpm_tool rpm_build rpm_product)
    rpm_opens_sim(${name})
    # Relative also before it is installed: the linker makes the build id of all that it writes.
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
        BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    if(LIBRPM_INSTALL)
        install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${name})
    endif()
    set_property(GLOBAL APPEND PROPERTY RPM_PROGRAMS ${name})
    rpm_completion(${name})
endfunction()

# Completion scripts for bash and zsh, which the program itself prints.
function(rpm_completion name)
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
        message(STATUS "${name}: no completions, which it would have to be run for")
        add_dependencies(rpm_installed ${name})
        return()
    endif()
    set(dir ${PROJECT_BINARY_DIR}/completion)
    file(MAKE_DIRECTORY ${dir}/bash ${dir}/zsh)
    add_custom_command(OUTPUT ${dir}/bash/${name} ${dir}/zsh/_${name}
        COMMAND ${name} --completion bash >${dir}/bash/${name}
        COMMAND ${name} --completion zsh >${dir}/zsh/_${name}
        DEPENDS ${name} COMMENT "Making the completions of ${name}")
    add_custom_target(${name}-completion ALL DEPENDS ${dir}/bash/${name} ${dir}/zsh/_${name})
    add_dependencies(rpm_installed ${name}-completion)
    if(LIBRPM_INSTALL)
        add_dependencies(rpm_installed man)
        install(FILES ${dir}/bash/${name} COMPONENT ${name}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${dir}/zsh/_${name} COMPONENT ${name}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    endif()
endfunction()

# rpm_example(NAME SOURCES file...): a small program that sees only the public headers. Its output
# must be that of expected/NAME.txt beside it, and memcheck must find nothing.
function(rpm_example name)
    cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE rpm rpm_build)
    rpm_opens_sim(${name})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    if(NOT LIBRPM_TESTS)
        return()
    endif()
    set(check ${PROJECT_SOURCE_DIR}/scripts/check_example)
    set(expected ${CMAKE_CURRENT_SOURCE_DIR}/expected/${name}.txt)
    rpm_script_test(example_${name} LABEL example COMMAND ${check} ${expected} $<TARGET_FILE:${name}>)
    if(NOT LIBRPM_SANITIZE)
        rpm_script_test(valgrind_${name} LABEL valgrind TIMEOUT 120
            COMMAND ${check} --memcheck ${expected} $<TARGET_FILE:${name}>)
    endif()
endfunction()
