# SPDX-License-Identifier: BSD-3-Clause
# history.cmake: what clients saw, judged as one order of all calls.
rpm_script_test(fs_history_check LABEL unit short COMMAND ${CMAKE_CURRENT_LIST_DIR}/history_check_test)
