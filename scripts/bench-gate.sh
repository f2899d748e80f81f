#!/usr/bin/env bash
# Counts the instructions of every workload of trunkline-bench per unit and compares them with the
# committed baseline: more than 3 % above it fails.
#
#   scripts/bench-gate.sh            compare
#   scripts/bench-gate.sh --save     compare, then make what was counted the baseline
#   scripts/bench-gate.sh NAME…      only these workloads (never saved)
#
# The counts do not depend on the machine's speed, but they do on the compiler: the toolchain is pinned,
# and a new one comes with a new baseline.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

tolerance=3
baseline=benches/baseline.tsv
save=no
only=()
for argument in "$@"; do
    case $argument in
        --save) save=yes ;;
        -*) echo "usage: scripts/bench-gate.sh [--save | NAME...]" >&2; exit 2 ;;
        *) only+=("$argument") ;;
    esac
done
if [ "$save" = yes ] && [ ${#only[@]} -gt 0 ]; then
    echo "--save takes all workloads, not some" >&2
    exit 2
fi
command -v valgrind >/dev/null || { echo "valgrind is needed: apt-get install valgrind" >&2; exit 2; }

# glibc copies long runs with `rep movsb`, of which every byte would count as an instruction.
export GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1000000000
# Counts would differ with the flags or with a profile set from outside.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
cargo build --quiet --release --locked -p trunkline-bench
bench=$(cargo metadata --format-version 1 --no-deps --locked |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release/trunkline-bench
rows=$("$bench")
for name in "${only[@]}"; do
    cut -f 1 <<<"$rows" | grep -qxF -- "$name" || { echo "no workload is named $name" >&2; exit 2; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Instructions of the whole program for some units of a workload.
count() {
    local only_in=()
    [ "$3" = - ] || only_in=(--toggle-collect="$3")
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "${only_in[@]}" "$bench" "$1" "$2" 2>"$scratch/log" ||
        { cat "$scratch/log" >&2; return 1; }
    local collected
    collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$scratch/log")
    [ -n "$collected" ] || { cat "$scratch/log" >&2; return 1; }
    echo "$collected"
}

touch "$scratch/counts"
while IFS=$'\t' read -r name unit goal units within beside; do
    if [ ${#only[@]} -gt 0 ] && ! printf '%s\n' "${only[@]}" | grep -qxF -- "$name"; then
        continue
    fi
    once=$(count "$name" "$units" "$within" </dev/null)
    twice=$(count "$name" $((2 * units)) "$within" </dev/null)
    cost=$(awk -v a="$once" -v b="$twice" -v n="$units" 'BEGIN { printf "%.1f", (b - a) / n }')
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$unit" "$cost" "$goal" "$beside" >>"$scratch/counts"
done <<<"$rows"

[ -f "$baseline" ] && cp "$baseline" "$scratch/baseline" || : >"$scratch/baseline"
verdict=0
awk -F '\t' -v tolerance="$tolerance" -v partial=${#only[@]} '
    function row(name, unit, cost, was, change, goal, mark) {
        printf "%-24s %-14s %14s %14s %9s %14s  %s\n", name, unit, cost, was, change, goal, mark
    }
    BEGIN { row("name", "unit", "instructions", "baseline", "change", "goal", "") }
    FILENAME ~ /baseline$/ { if ($1 !~ /^#/) was[$1] = $3; next }
    {
        seen[$1] = 1; cost[$1] = $3
        if ($5 != "-") beside[$1] = $5
        mark = $4 == "-" || $3 <= $4 ? "" : "above goal"
        if (!($1 in was)) { row($1, $2, $3, "-", "-", $4, "NO BASELINE"); failed = 1; next }
        change = was[$1] > 0 ? 100 * ($3 - was[$1]) / was[$1] : 0
        if (change > tolerance) { mark = "SLOWER"; failed = 1 }
        if (change < -tolerance) mark = "faster: --save keeps it"
        row($1, $2, $3, was[$1], sprintf("%+.1f %%", change), $4, mark)
    }
    END {
        for (name in beside) if (beside[name] in cost && cost[beside[name]] > 0)
            printf "%s = %.2f x %s\n", name, cost[name] / cost[beside[name]], beside[name]
        for (name in was) if (!partial && !(name in seen)) { print name ": in the baseline, but no such workload"; failed = 1 }
        exit failed
    }
' "$scratch/baseline" "$scratch/counts" || verdict=1

if [ "$save" = yes ]; then
    {
        printf '# Instructions per unit, counted by scripts/bench-gate.sh --save with %s.\n' "$(rustc --version | cut -d ' ' -f 1,2)"
        printf '# name\tunit\tinstructions\n'
        cut -f 1-3 "$scratch/counts"
    } >"$baseline"
    echo "saved to $baseline"
    exit 0
fi
[ "$verdict" = 0 ] || echo "more than $tolerance % above the baseline, or not in it; --save if that is meant" >&2
exit "$verdict"
