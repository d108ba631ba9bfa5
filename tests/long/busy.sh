#!/usr/bin/env bash
# The whole suite, several times in a row, while busy processes share the processors with it:
#
#     make test-busy                                    three times, four busy processes
#     TIMES=1 BUSY=8 tests/long/busy.sh tests/test_worker.py
#
# No test may depend on how fast the machine is: a run that fails here and passes on an idle machine is a defect.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
times=${TIMES:-3}
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
for _ in $(seq "${BUSY:-4}"); do
    while :; do :; done &
    busy+=($!)
done
for time in $(seq "$times"); do
    echo "run $time of $times, beside ${#busy[@]} busy processes"
    "$python" -m pytest -q -n auto "$@"
done
