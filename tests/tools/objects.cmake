# SPDX-License-Identifier: BSD-3-Clause
# objects.cmake: agents, writers and readers over a folder, and over object stores: one that checks signatures and fails when it is told
# to, and that of the package moto, where it is installed.
tool_test(agent 240 rpm-agent rpm-log rpm-server)
if(NOT LIBRPM_S3)
    return()
endif()
set(programs $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log> $<TARGET_FILE:rpm-server>)
set(test ${CMAKE_CURRENT_LIST_DIR}/object_store_test)
rpm_script_test(tools_object_store LABEL unit TIMEOUT 360 COMMAND ${test} ${programs})
rpm_script_test(tools_object_store_moto LABEL unit TIMEOUT 360 COMMAND ${test} ${programs} moto)
rpm_script_test(kill_agent_objects LABEL kill TIMEOUT 600 COMMAND ${PROJECT_SOURCE_DIR}/tests/kill/agent_segments
    --objects ${CMAKE_CURRENT_LIST_DIR}/object_store.py
    $<TARGET_FILE:rpm-server> $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log>)
