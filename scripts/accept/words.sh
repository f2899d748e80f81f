# What the scripts beside it have in common; they source it from the project's root.
export CARGO_TERM_COLOR=never

program=target/release/trunkline
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

verdict() { # NAME STATUS [TEXT]
    local mark=ok
    [ "$2" = 0 ] || { mark=FAILED; failed=1; }
    printf '%-7s %-58s %s\n' "$mark" "$1" "${3:-}"
}

headline() { printf '\n== %s\n' "$1"; }

# Whether a line is among those asked for.
wanted() { [[ $lines == *" $1 "* ]]; }

# Runs a published plan; its own bands and expectations judge it.
plan() {
    "$program" lab run "$1" --quiet --color never
    verdict "lab run $1" $?
}

# The last word on a part, which is the exit code too.
conclude() { # PART
    echo
    [ "$failed" = 0 ] && echo "part $1: all lines ok" || echo "part $1: some lines FAILED"
    exit "$failed"
}
