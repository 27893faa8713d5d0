#!/bin/sh
# On a GPU machine that is lent for minutes: lease.sh JOBS OUT SECONDS STEP … — as much of the steps, in their order, as the
# seconds allow; called again, it goes on. JOBS: a folder, or .tar.xz of one, with arena/ and study/ as their pack.py makes
# them. OUT gets arena.json, search.json, study.json and gpu-test.log. STEP: check, packages, test, arena, search, study.
# `packages` installs the wheels in .whl/ (test and search need the package's own needs).
set -u
jobs=$1; out=$2; seconds=$3; shift 3
began=$(date +%s); work=${OPTIMAS_LEASE:-/tmp/optimas-lease}
export PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin" PYTHONUNBUFFERED=1
root=$(cd "$(dirname "$0")/../.." && pwd)
left() { echo $((seconds - $(date +%s) + began - 12)); }
say() { echo "== $(($(date +%s) - began)) s: $*"; }
keep() { cp "$work"/*.json "$work"/*.log "$out"/ 2> /dev/null; }
mkdir -p "$work" "$out"
if [ ! -d "$work/jobs" ]; then
    mkdir "$work/jobs"
    if [ -d "$jobs" ]; then cp -r "$jobs"/. "$work/jobs"; else tar xf "$jobs" -C "$work/jobs"; fi
    setsid sh "$root/tests/gpu/hold.sh" > /dev/null 2>&1 &
fi
for step; do
    [ "$(left)" -gt 30 ] || { say "no time for $step"; break; }
    say "$step"
    case $step in
        check) sh "$root/tests/gpu/check.sh" "$work/check" || exit 1 ;;
        packages) python3 -m pip install -q --no-index --no-deps --no-compile "$root"/.whl/*.whl || exit 1 ;;
        test) (cd "$root" && PYTHONPATH=$root timeout "$(left)" python3 -m pytest tests/gpu -m gpu -n 4 -p no:cacheprovider \
            --timeout 1200 > "$work/gpu-test.log" 2>&1; tail -n 40 "$work/gpu-test.log"; cp build/gpu/arena.json "$work") ;;
        arena) sh "$root/tests/gpu/arena/run.sh" "$work/jobs/arena" "$work/arena.json" "$(left)" ;;
        search) PYTHONPATH=$root python3 "$root/tests/gpu/search/run.py" "$work/search" "$work/search.json" "${AT_ONCE:-3}" "$(left)" ;;
        study) sh "$root/tests/gpu/gains/run.sh" "$work/jobs/study" "$work/study.json" 8 "$(left)" ;;
        *) say "there is no step $step"; exit 2 ;;
    esac
    keep
done
say "end"
