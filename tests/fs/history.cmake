# SPDX-License-Identifier: BSD-3-Clause
# history.cmake: what clients saw, judged as one order of all calls.
# fs_history_clients: the sources of librpmfs, whose sessions get a listener, and the one of dtx-bench.
set(lib ${PROJECT_SOURCE_DIR}/fs/lib)
add_executable(fs_history_clients history_clients.cpp ${PROJECT_SOURCE_DIR}/dtx/bench/history.cc ${lib}/async.cc
    ${lib}/attributes.cc ${lib}/calls.cc ${lib}/client.cc ${lib}/directory.cc ${lib}/file.cc ${lib}/lock.cc
    ${lib}/tree.cc ${lib}/xattrs.cc)
set_target_properties(fs_history_clients PROPERTIES CXX_STANDARD 20)
target_include_directories(fs_history_clients PRIVATE ${PROJECT_SOURCE_DIR}/fs/include)
target_link_libraries(fs_history_clients PRIVATE rpmfs_core dtx_workload dtx_history rpm rpm_build)
add_dependencies(rpm_short_tests fs_history_clients dtx-check rpm-fs rpm-server)
set(history ${CMAKE_CURRENT_LIST_DIR}/rpm-fs-history run --build ${PROJECT_BINARY_DIR})
rpm_script_test(fs_history_check LABEL unit short COMMAND ${CMAKE_CURRENT_LIST_DIR}/history_check_test)
rpm_script_test(fs_history_clients LABEL kill short COMMAND ${history} --clients 4 --kill 1 --seconds 4
    -o fs_history_clients.jsonl)
rpm_script_test(fs_history_mounts LABEL unit short COMMAND ${history} --mounts 2 --seconds 4 --join-every 2
    -o fs_history_mounts.jsonl)
foreach(canary validate drop-commit)
    rpm_script_test(fs_history_finds_${canary} LABEL canary short TIMEOUT 300 COMMAND ${history} --clients 4 --seconds 2
        --canary ${canary} -o fs_history_${canary}.jsonl)
endforeach()
