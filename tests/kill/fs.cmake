# SPDX-License-Identifier: BSD-3-Clause
# fs.cmake: volumes whose servers and mounts are killed, stopped and lost.
set(programs ${server} $<TARGET_FILE:rpm-fs>)
set(fs ${CMAKE_CURRENT_SOURCE_DIR}/fs_)
rpm_script_test(kill_fs_durability LABEL kill TIMEOUT 300 COMMAND ${fs}durability --rounds 2 --seconds 2 ${programs})
rpm_script_test(kill_fs_promotion LABEL kill TIMEOUT 300 COMMAND ${fs}promotion --rounds 1 ${programs})
rpm_script_test(kill_fs_stopped LABEL kill TIMEOUT 300 COMMAND ${fs}stopped --seconds 5 ${programs})
foreach(canary lost half)
    rpm_script_test(kill_fs_finds_${canary} LABEL kill TIMEOUT 300
        COMMAND ${fs}durability --rounds 1 --seconds 1 --canary ${canary} ${programs})
endforeach()
